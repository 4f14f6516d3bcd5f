"""Weight textures for llvmpipe: shaders fetch the same texel, and floats equal the bytes' values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny import tiny_bundle

from glsl_infer.bundle import Bundle
from glsl_infer.program import Texture
from glsl_infer.runtime.drivers.llvmpipe import weight_halves
from glsl_infer.runtime.drivers.llvmpipe.weight_halves import HALVES, MOST_FRAGMENTS, few_read, floats, with_spare_rows

LARGEST = 2048


def halved(bundle: Bundle) -> dict[str, Texture]:
    """Return the textures of weights of convolutions, by name."""
    convolutions = {
        layer.name for layer in tiny_bundle("texture", weight_bits="16").network.layers if layer.op == "conv2d"
    }
    weights = {f"{name}.weights" for name in convolutions}
    return {texture.name: texture for texture in bundle.manifest.textures if texture.name in weights}


def texels(bundle: Bundle, texture: Texture) -> NDArray[np.uint8]:
    assert texture.member is not None
    return np.frombuffer(bundle.members[texture.member], np.uint8).reshape(texture.height, texture.width, 4)


@pytest.fixture(scope="module")
def both() -> tuple[Bundle, Bundle]:
    bundle = tiny_bundle("texture", weight_bits="16")
    return bundle, with_spare_rows(bundle, LARGEST)


def test_no_height_is_a_power_of_two(both: tuple[Bundle, Bundle]) -> None:
    before, after = (halved(bundle) for bundle in both)
    assert {texture.height for texture in before.values()} == {4, 32}
    assert {texture.height for texture in after.values()} == {6, 34}


def test_low_bytes_are_half_a_texture_below_the_high_ones(both: tuple[Bundle, Bundle]) -> None:
    before, after = both
    for name, texture in halved(before).items():
        other = halved(after)[name]
        old, new = texels(before, texture), texels(after, other)
        for row in range(texture.height // 2):
            middle = np.float32((row + 0.5) / other.height)
            upper, lower = int(middle * other.height), int((middle + np.float32(0.5)) * other.height)
            np.testing.assert_array_equal(new[upper], old[row])
            np.testing.assert_array_equal(new[lower], old[row + texture.height // 2])


def test_a_texture_of_one_slice_gets_two() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    stem = halved(bundle)["stem.weights"]
    assert stem.member is not None
    short = replace(stem, height=2)
    textures = tuple(short if texture == stem else texture for texture in bundle.manifest.textures)
    data = bytes(range(8)) * stem.width
    bundle = replace(
        bundle,
        manifest=replace(bundle.manifest, textures=textures),
        members={**bundle.members, stem.member: data},
    )
    spaced = with_spare_rows(bundle, LARGEST)
    pixels = texels(spaced, halved(spaced)["stem.weights"])
    assert pixels.shape[0] == 6
    assert pixels[0].tobytes() + pixels[3].tobytes() == data
    assert not pixels[[1, 2, 4, 5]].any()


def test_other_textures_stay(both: tuple[Bundle, Bundle]) -> None:
    before, after = both
    names = set(halved(before))
    assert [texture for texture in before.manifest.textures if texture.name not in names] == [
        texture for texture in after.manifest.textures if texture.name not in names
    ]
    assert {name: after.members[name] for name in before.members} == dict(before.members)


def test_textures_that_would_be_too_large_stay() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    assert {texture.height for texture in halved(with_spare_rows(bundle, 33)).values()} == {6, 32}


def test_other_shaders_keep_their_textures() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    members = {name: data.replace(HALVES, b"lower = ROW.y + units[0].x;") for name, data in bundle.members.items()}
    assert members != dict(bundle.members)
    bundle = replace(bundle, members=members)
    assert with_spare_rows(bundle, LARGEST).manifest == bundle.manifest


def test_floats_replace_bytes_if_few_fragments_fetch() -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    names = frozenset(halved(bundle))
    assert few_read(bundle) == names
    (program,) = {draw.program for draw in bundle.manifest.passes if draw.layer == "stem"}
    large = tuple(
        replace(draw, quads=(replace(draw.quads[0], width=MOST_FRAGMENTS, height=2),))
        if draw.program == program
        else draw
        for draw in bundle.manifest.passes
    )
    bundle = replace(bundle, manifest=replace(bundle.manifest, passes=large))
    assert few_read(bundle) == names - {"stem.weights"}


def test_floats_stay_within_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tiny_bundle("texture", weight_bits="16")
    size = 16 * sum(texture.width * texture.height for texture in halved(bundle).values())
    monkeypatch.setattr(weight_halves, "MOST_BYTES", size)
    assert few_read(bundle)
    monkeypatch.setattr(weight_halves, "MOST_BYTES", size - 1)
    assert not few_read(bundle)


def test_each_byte_becomes_a_float() -> None:
    values = np.frombuffer(floats(bytes(range(256))), np.float32)
    assert values[0] == 0.0
    assert values[255] == 1.0
    np.testing.assert_allclose(values, np.arange(256) / 255.0, rtol=1e-7)
