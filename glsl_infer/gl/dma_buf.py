"""Images in dma-bufs: memory that the kernel shares between devices, such as a camera and a GPU.

A dma-buf is a file descriptor without a description of its content. ``DmaBuf`` adds the description, in the terms of
Linux' ``drm_fourcc.h`` and EGL_EXT_image_dma_buf_import. This module needs no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Union

from glsl_infer.errors import ImageError
from glsl_infer.support.records import dataclass

ColourSpace = Literal["bt601", "bt709"]
SampleRange = Literal["narrow", "full"]

# Names from the EGL extensions EGL_EXT_image_dma_buf_import and EGL_EXT_image_dma_buf_import_modifiers.
EGL_WIDTH, EGL_HEIGHT, EGL_LINUX_DRM_FOURCC = 0x3057, 0x3056, 0x3271
_FIRST_PLANE = 0x3272
"""EGL_DMA_BUF_PLANE0_FD_EXT. The values for offset and pitch follow, then those of the other planes."""
_FIRST_MODIFIER = 0x3443
"""EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT. The value for the upper half follows, then those of the other planes."""
_COLOUR_SPACE_HINT, _RANGE_HINT = 0x327B, 0x327C
_COLOUR_SPACES: dict[str, int] = {"bt601": 0x327F, "bt709": 0x3280}
_RANGES: dict[str, int] = {"full": 0x3282, "narrow": 0x3283}

MAX_PLANES = 3


@dataclass(frozen=True)
class DmaBufPlane:
    """Location of a plane of an image.

    Attributes:
        fd: file descriptor of the dma-buf, open while the image is used; planes can share one.
        offset: offset of the first byte, in bytes.
        stride: distance of rows, in bytes, at least 1.
    """

    fd: int
    offset: int
    stride: int


@dataclass(frozen=True)
class DmaBuf:
    """An image in dma-bufs, which the GPU reads without a copy by the CPU.

    Its bytes must not change until the output of its frame has been read.

    Attributes:
        width, height: size in pixels, from 1 to the driver's GL_MAX_TEXTURE_SIZE. Row 0 is the top.
        fourcc: pixel format, a code of four characters from ``drm_fourcc.h``: ``XB24`` for R, G, B and an unused byte
            in memory, ``NV12`` for a plane of Y and one of U and V. Alpha is ignored.
        planes: one to three.
        modifier: memory layout (tiled, compressed), 64 bits from ``drm_fourcc.h``; None for the driver's default, such
            as the linear rows of cameras. A modifier needs EGL_EXT_image_dma_buf_import_modifiers.
        colour_space: of YUV: ``bt601`` or ``bt709``; None for the driver's default.
        sample_range: of YUV: ``narrow`` (Y from 16 to 235) or ``full``; None for the driver's default.

    Raises:
        ImageError: an attribute is out of its range; the message has the range.
    """

    width: int
    height: int
    fourcc: str
    planes: tuple[DmaBufPlane, ...]
    modifier: int | None = None
    colour_space: ColourSpace | None = None
    sample_range: SampleRange | None = None

    def __post_init__(self) -> None:
        problem = next(self._problems(), None)
        if problem is not None:
            raise ImageError(f"a dma-buf cannot have {problem}")

    def __str__(self) -> str:
        modifier = "" if self.modifier is None else f", modifier {self.modifier:#x}"
        strides = " + ".join(str(plane.stride) for plane in self.planes)
        return f"{self.width} x {self.height} pixels {self.fourcc}, rows of {strides} bytes{modifier}"

    def _problems(self) -> Iterator[str]:
        """Yield a message for each property that is outside its bounds."""
        for name, value in (("width", self.width), ("height", self.height)):
            if value < 1:
                yield f"{name}={value}; it is 1 or more"
        if len(self.fourcc) != 4 or not all(" " <= character <= "~" for character in self.fourcc):
            yield f"fourcc={self.fourcc!r}; it is four characters of ASCII, as 'XB24'"
        if not 1 <= len(self.planes) <= MAX_PLANES:
            yield f"{len(self.planes)} planes; 1 to {MAX_PLANES} are possible"
        for index, plane in enumerate(self.planes):
            for name, property_value, least in (
                ("fd", plane.fd, 0),
                ("offset", plane.offset, 0),
                ("stride", plane.stride, 1),
            ):
                if not least <= property_value < 1 << 31:
                    yield f"{name}={property_value} in plane {index}; it is {least} or more, in 31 bits"
        if self.modifier is not None and not 0 <= self.modifier < 1 << 64:
            yield f"modifier={self.modifier}; it is a number of 64 bits"
        if self.colour_space is not None and self.colour_space not in _COLOUR_SPACES:
            yield f"colour_space={self.colour_space!r}; choose one of {', '.join(_COLOUR_SPACES)}"
        if self.sample_range is not None and self.sample_range not in _RANGES:
            yield f"sample_range={self.sample_range!r}; choose one of {', '.join(_RANGES)}"


def fourcc_code(fourcc: str) -> int:
    """Return the 32 bits of a fourcc, with its first character in the lowest byte."""
    return int.from_bytes(fourcc.encode("ascii"), "little")


def fourcc_text(code: int) -> str:
    """Return the four characters of a code, with ``?`` for unprintable ones."""
    return "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in code.to_bytes(4, "little"))


def attributes(picture: DmaBuf) -> list[int]:
    """Return EGL's attribute list of an image: alternating names and values, as signed 32 bits, without EGL_NONE."""
    pairs: list[tuple[int, Union[int, None]]] = [
        (EGL_WIDTH, picture.width),
        (EGL_HEIGHT, picture.height),
        (EGL_LINUX_DRM_FOURCC, fourcc_code(picture.fourcc)),
    ]
    for index, plane in enumerate(picture.planes):
        for field, value in enumerate((plane.fd, plane.offset, plane.stride)):
            pairs.append((_FIRST_PLANE + 3 * index + field, value))
        if picture.modifier is not None:
            for field, half in enumerate((picture.modifier & 0xFFFFFFFF, picture.modifier >> 32)):
                pairs.append((_FIRST_MODIFIER + 2 * index + field, half))
    pairs.append((_COLOUR_SPACE_HINT, _COLOUR_SPACES.get(picture.colour_space or "")))
    pairs.append((_RANGE_HINT, _RANGES.get(picture.sample_range or "")))
    return [attribute for name, value in pairs if value is not None for attribute in (name, _signed(value))]


def _signed(value: int) -> int:
    """Reinterpret an unsigned 32-bit integer as signed, because EGL's attributes are signed."""
    return value - (1 << 32) if value >= 1 << 31 else value
