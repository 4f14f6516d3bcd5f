"""The virtual VideoCore IV draws every pixel once, loads targets, reads all textures, and names missing features."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from on_driver import lines_of
from on_executor import (
    ALPHA,
    BITS_565,
    BITS_4444,
    BITS_5551,
    LINEAR,
    LUMINANCE,
    LUMINANCE_ALPHA,
    MIRROR,
    REPEAT,
    RGB,
    RGBA,
    case,
    drawn,
    start,
    texture,
)

from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.transcript import parse

COPY = "uniform sampler2D t0; void main() { gl_FragColor = texture2D(t0, at); }"
SIZES = [(1, 1), (3, 5), (16, 40), (17, 17), (64, 64), (100, 70), (150, 33)]


@pytest.fixture
def executor(each_executor: Executor) -> Executor:
    return each_executor


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_texels_are_where_the_driver_puts_them(executor: Executor, rng: np.random.Generator) -> None:
    """Texels are read and written in the driver's tiled order, which it computes on the CPU for both directions."""
    pictures = [rng.integers(0, 256, (height, width, 4), np.uint8) for width, height in SIZES]
    cases = [case(COPY, size, textures=[texture(picture)]) for size, picture in zip(SIZES, pictures)]
    for pixels, picture in zip(drawn(executor, *cases), pictures):
        np.testing.assert_array_equal(pixels, picture)


@pytest.mark.parametrize("size", [(16, 16), (40, 40), (100, 70)])
def test_texels_of_each_format_are_decoded(executor: Executor, rng: np.random.Generator, size: tuple[int, int]) -> None:
    width, height = size
    packed = rng.integers(0, 1 << 16, (height, width), np.uint16)
    planes = rng.integers(0, 256, (height, width, 4), np.uint8)
    ones, zeros = np.full_like(planes[..., 0], 255), np.zeros_like(planes[..., 0])

    def eight_bits(shift: int, bits: int) -> np.ndarray:
        value = packed.astype(np.uint32) >> shift & ((1 << bits) - 1)
        return (
            (value << (8 - bits) | value << (8 - bits) >> bits).astype(np.uint8)
            if bits > 1
            else (value * 255).astype(np.uint8)
        )

    first, two = planes[..., 0], planes[..., :2]
    expected = [
        (texture(planes[..., :3], RGB), [*np.moveaxis(planes[..., :3], -1, 0), ones]),
        (texture(first, ALPHA), [zeros, zeros, zeros, first]),
        (texture(first, LUMINANCE), [first, first, first, ones]),
        (texture(two, LUMINANCE_ALPHA), [first, first, first, two[..., 1]]),
        (texture(packed, RGB, BITS_565), [eight_bits(11, 5), eight_bits(5, 6), eight_bits(0, 5), ones]),
        (texture(packed, RGBA, BITS_4444), [eight_bits(12, 4), eight_bits(8, 4), eight_bits(4, 4), eight_bits(0, 4)]),
        (texture(packed, RGBA, BITS_5551), [eight_bits(11, 5), eight_bits(6, 5), eight_bits(1, 5), eight_bits(0, 1)]),
    ]
    result = drawn(executor, *(case(COPY, size, textures=[source]) for source, _ in expected))
    for pixels, (source, lanes) in zip(result, expected):
        np.testing.assert_array_equal(pixels, np.stack(lanes, axis=-1), err_msg=hex(source["format"]))


def test_texture_coordinates_repeat_or_mirror(executor: Executor, rng: np.random.Generator) -> None:
    texels = rng.integers(0, 256, (32, 32, 4), np.uint8)
    scaled = "uniform sampler2D t0; void main() { gl_FragColor = texture2D(t0, at * 4.0 - 2.0); }"
    cases = [case(scaled, (128, 128), textures=[texture(texels, wrap=mode)]) for mode in (REPEAT, MIRROR)]
    repeated, mirrored = drawn(executor, *cases)
    np.testing.assert_array_equal(repeated, np.tile(texels, (4, 4, 1)))
    across = np.concatenate([texels, texels[:, ::-1]], axis=1)
    np.testing.assert_array_equal(mirrored, np.tile(np.concatenate([across, across[::-1]]), (2, 2, 1)))


def test_linear_filter(executor: Executor, rng: np.random.Generator) -> None:
    """The linear filter at twice the size: weights of 3/4 for one texel and 1/4 for the next."""
    texels = rng.integers(0, 256, (20, 20, 4), np.uint8)
    source = texture(texels, minify=LINEAR, magnify=LINEAR)
    (pixels,) = drawn(executor, case(COPY, (40, 40), textures=[source]))
    edged = np.pad(texels.astype(float), ((1, 1), (1, 1), (0, 0)), mode="edge")
    at = np.arange(40) * 0.5 + 0.75  # in texels of the padded picture
    low, fraction = np.floor(at).astype(int), (at % 1)[:, None]
    rows = edged[low] * (1 - fraction[..., None]) + edged[low + 1] * fraction[..., None]
    expected = rows[:, low] * (1 - fraction) + rows[:, low + 1] * fraction
    assert np.abs(pixels - expected).max() <= 0.75


RAMP = "void main() { gl_FragColor = vec4(floor(at * 16.0) / 255.0, 1.0, 1.0); }"


@pytest.mark.parametrize(
    "primitive",
    [
        {"mode": 4, "corners": [-1, -1, 1, -1, 1, 1, -1, -1, 1, 1, -1, 1]},
        {"mode": 5, "corners": [-1, -1, 1, -1, -1, 1, 1, 1]},
        {"mode": 6, "corners": [-1, -1, 1, -1, 1, 1, -1, 1]},
        {"mode": 4, "corners": [-1, -1, 1, -1, 1, 1, -1, 1], "indices": [0, 1, 2, 2, 3, 0]},
        {"mode": 4, "corners": [-1, -1, 3, -1, -1, 3]},
    ],
    ids=["triangles", "strip", "fan", "indexed", "larger than the target"],
)
def test_primitives_cover_the_target(executor: Executor, primitive: dict[str, object]) -> None:
    (pixels,) = drawn(executor, case(RAMP, **primitive))
    y, x = np.mgrid[:16, :16]
    np.testing.assert_array_equal(pixels[..., 0], x)
    np.testing.assert_array_equal(pixels[..., 1], y)


def test_a_triangle_covers_the_pixels_whose_middle_it_holds(executor: Executor) -> None:
    corners = np.array([[5.3, 3.1], [90.2, 20.7], [30.6, 97.4]])
    flat = (corners / 50.0 - 1.0).ravel().tolist()
    (pixels,) = drawn(executor, case(RAMP, (100, 100), mode=4, corners=flat))
    y, x = np.mgrid[:100, :100] + 0.5
    sides = [(b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0))]
    side_distances = [d[0] * (y - a[1]) - d[1] * (x - a[0]) for a, d in zip(corners, sides)]
    lengths = [np.hypot(*d) for d in sides]
    distance = np.min([offsets / length for offsets, length in zip(side_distances, lengths)], axis=0)
    certain = np.abs(distance) > 0.1  # corners are rounded to sixteenths of a pixel
    covered = pixels[..., 2] == 255
    np.testing.assert_array_equal(covered[certain], (distance > 0)[certain])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": 1, "corners": [-1, -1, 1, 1]}, "not done: points and lines"),
        (
            {
                "fragment": "uniform samplerCube t0; void main() { gl_FragColor = textureCube(t0, vec3(at, 1.0)); }",
                "textures": [texture(np.zeros((8, 8, 4), np.uint8), target=0x8513)],
            },
            "not done: texture with three coordinates",
        ),
        ({"fragment": "void main() { gl_FragColor = gl_FragCoord.zzzz; }"}, "not done: the depth of a fragment"),
    ],
    ids=["lines", "cube map", "depth"],
)
def test_missing_features_are_named(executor: Executor, changes: dict[str, object], message: str) -> None:
    done = start(executor, [{**case(RAMP), **changes}])
    assert done.returncode < 0
    assert f"vc4 executor: {message}" in done.stderr


DRAW_TWICE = """
import numpy as np
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects

VERTEX = b"#version 100\\nattribute vec2 position; void main() { gl_Position = vec4(position, 0.0, 1.0); }"
FRAGMENT = b"#version 100\\nvoid main() { gl_FragColor = vec4(0.5); }"
with Context("surfaceless") as context, Objects(context.gl) as objects:
    gl = context.gl
    gl.BindFramebuffer(GL.GL_FRAMEBUFFER, objects.framebuffer(objects.texture(130, 60)))
    gl.Viewport(0, 0, 130, 60)
    gl.UseProgram(objects.program(VERTEX, FRAGMENT, ["position"], "test"))
    objects.buffer(np.array([-1, -1, 3, -1, -1, 3], "<f4").tobytes())
    gl.VertexAttribPointer(0, 2, GL.GL_FLOAT, 0, 0, None)
    gl.EnableVertexAttribArray(0)
    for clear in (True, False):
        if clear:
            gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.DrawArrays(GL.GL_TRIANGLES, 0, 3)
        objects.read(1, 1)
"""

COLOR_READ = 60
"""Offset in struct drm_vc4_submit_cl of the buffer to load from: an index, or all ones for none."""


def test_loads_are_those_of_the_job_for_the_kernel(driver: Driver, tmp_path: Path) -> None:
    lines = lines_of(driver, DRAW_TWICE, {"VC4_SHIM_DUMP": str(tmp_path)})
    jobs = parse(["@frame", *lines], ()).frame
    assert [job.loads for job in jobs] == [False, True]
    records = [(tmp_path / f"submit{index}.bin").read_bytes() for index in (1, 2)]
    assert [struct.unpack_from("<I", data, COLOR_READ)[0] != 0xFFFFFFFF for data in records] == [False, True]


def test_tiles_are_those_of_64_pixels_that_the_target_has(driver: Driver) -> None:
    jobs = parse(["@frame", *lines_of(driver, DRAW_TWICE)], ()).frame
    assert [(job.width, job.height, job.tiles, job.records) for job in jobs] == [(130, 60, 3, 1)] * 2
