"""dma-buf descriptions: the EGL attributes, and invalid descriptions."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

os.environ.setdefault("PYOPENGL_PLATFORM", "egl")

from OpenGL.raw.EGL.EXT import image_dma_buf_import as theirs

from glsl_infer import DmaBuf, DmaBufPlane
from glsl_infer.errors import ImageError
from glsl_infer.gl.dma_buf import EGL_HEIGHT, EGL_WIDTH, attributes, fourcc_code, fourcc_text

MODIFIERS = {
    0x3443 + 2 * plane + half: f"DMA_BUF_PLANE{plane}_MODIFIER_{name}"
    for plane in range(3)
    for half, name in enumerate(("LO", "HI"))
}
"""Values from the EGL registry, 0x3443 to 0x3448, which PyOpenGL lacks."""

RGB = DmaBuf(640, 480, "XB24", (DmaBufPlane(7, 0, 2560),))
YUV = DmaBuf(64, 48, "YU12", (DmaBufPlane(7, 0, 64), DmaBufPlane(7, 3072, 32), DmaBufPlane(8, 3840, 32)))


def named(picture: DmaBuf) -> dict[str, int]:
    """Return the attributes by PyOpenGL's names."""
    names = {EGL_WIDTH: "WIDTH", EGL_HEIGHT: "HEIGHT", **MODIFIERS}
    names |= {int(value): name for name, value in vars(theirs).items() if isinstance(value, int)}
    flat = attributes(picture)
    assert all(-(1 << 31) <= attribute < 1 << 31 for attribute in flat)
    assert len(set(flat[::2])) * 2 == len(flat), "each at most once"
    return {names[name].removeprefix("EGL_").removesuffix("_EXT"): value for name, value in zip(flat[::2], flat[1::2])}


def test_one_plane() -> None:
    assert named(RGB) == {
        "WIDTH": 640,
        "HEIGHT": 480,
        "LINUX_DRM_FOURCC": int.from_bytes(b"XB24", "little"),
        "DMA_BUF_PLANE0_FD": 7,
        "DMA_BUF_PLANE0_OFFSET": 0,
        "DMA_BUF_PLANE0_PITCH": 2560,
    }


def test_three_planes() -> None:
    result = named(YUV)
    assert [result[f"DMA_BUF_PLANE{index}_FD"] for index in range(3)] == [7, 7, 8]
    assert [result[f"DMA_BUF_PLANE{index}_OFFSET"] for index in range(3)] == [0, 3072, 3840]
    assert [result[f"DMA_BUF_PLANE{index}_PITCH"] for index in range(3)] == [64, 32, 32]
    assert len(result) == 3 + 9


def test_the_modifier_is_every_plane_s() -> None:
    result = named(replace(YUV, modifier=0x8123_4567_89AB_CDEF))
    for index in range(3):
        halves = (result[f"DMA_BUF_PLANE{index}_MODIFIER_{half}"] & 0xFFFFFFFF for half in ("HI", "LO"))
        assert list(halves) == [0x8123_4567, 0x89AB_CDEF]
    assert named(replace(RGB, modifier=0))["DMA_BUF_PLANE0_MODIFIER_LO"] == 0, "a linear modifier is not a missing one"


@pytest.mark.parametrize(
    ("colour_space", "hint"), [("bt601", theirs.EGL_ITU_REC601_EXT), ("bt709", theirs.EGL_ITU_REC709_EXT)]
)
@pytest.mark.parametrize(
    ("sample_range", "second"), [("narrow", theirs.EGL_YUV_NARROW_RANGE_EXT), ("full", theirs.EGL_YUV_FULL_RANGE_EXT)]
)
def test_the_colour_space_of_a_frame_is_passed_as_hints(
    colour_space: Any, hint: int, sample_range: Any, second: int
) -> None:
    result = named(replace(YUV, colour_space=colour_space, sample_range=sample_range))
    assert (result["YUV_COLOR_SPACE_HINT"], result["SAMPLE_RANGE_HINT"]) == (hint, second)
    assert not {"YUV_COLOR_SPACE_HINT", "SAMPLE_RANGE_HINT"} & set(named(YUV))


def test_fourcc() -> None:
    assert fourcc_code("NV12") == 0x3231564E
    for text in ("NV12", "R8  ", "XB24"):
        assert fourcc_text(fourcc_code(text)) == text
    assert fourcc_text(0x00FF4142) == "BA??"


def test_the_description_has_size_format_and_pitch() -> None:
    assert str(RGB) == "640 x 480 pixels XB24, rows of 2560 bytes"
    assert str(replace(YUV, modifier=5)) == "64 x 48 pixels YU12, rows of 64 + 32 + 32 bytes, modifier 0x5"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width=0; it is 1 or more"),
        ({"height": -3}, "height=-3; it is 1 or more"),
        ({"fourcc": "RGB"}, "fourcc='RGB'; it is four characters"),
        ({"fourcc": "XBÄ4"}, "four characters of ASCII"),
        ({"planes": ()}, "0 planes; 1 to 3 are possible"),
        ({"planes": RGB.planes * 4}, "4 planes"),
        ({"planes": (DmaBufPlane(-1, 0, 4),)}, "fd=-1 in plane 0"),
        ({"planes": (DmaBufPlane(1, 0, 4), DmaBufPlane(1, 1 << 31, 4))}, "offset=2147483648 in plane 1"),
        ({"planes": (DmaBufPlane(1, 0, 0),)}, "stride=0 in plane 0; it is 1 or more"),
        ({"modifier": 1 << 64}, "it is a number of 64 bits"),
        ({"colour_space": "bt2020"}, "choose one of bt601, bt709"),
        ({"sample_range": "wide"}, "choose one of full, narrow"),
    ],
)
def test_invalid_descriptions_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ImageError, match=r"^a dma-buf cannot have ") as error:
        replace(RGB, **change)
    assert message in str(error.value)
