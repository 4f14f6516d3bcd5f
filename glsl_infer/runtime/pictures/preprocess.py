"""From any picture to the bytes that a network reads: one definition for training and every runner.

Manifests call it ``bundle.manifest.FIT``.

1. The first frame of an animation, EXIF orientation applied, 16-bit values scaled to 8 bits.
2. Alpha over white; an ICC profile converted to sRGB; no linearisation: bytes are averaged as they are.
3. The centred square: of width w and height h, side s = min(w, h) from x = (w - s) // 2, y = (h - s) // 2.
4. Shrinking, the exact area average in integers; enlarging, Pillow's bilinear filter.

docs/bundle-format.md repeats this definition for people who write a runner.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Union

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image, ImageCms, UnidentifiedImageError

from glsl_infer.errors import ImageError
from glsl_infer.support.files import not_a_file

ImageSource = Union[str, Path, Image.Image, NDArray[np.uint8]]

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What makes a picture of an EXIF orientation upright."""

_BAND = 1 << 20
"""Pixels that are averaged at a time."""


def load(source: ImageSource, size: int) -> NDArray[np.uint8]:
    """Return ``source`` as the network reads it: uint8 ``(size, size, 3)``, sRGB.

    Raises:
        ImageError: the picture cannot be read; the message names the file.
    """
    return to_square(_read(source, whole=False), size)


def open_image(source: ImageSource) -> Image.Image:
    """Return ``source`` (a path, a Pillow image or a uint8 array) as an upright 8-bit sRGB Pillow image.

    Arrays are ``(height, width)`` grey, ``(height, width, 3)`` RGB or ``(height, width, 4)`` RGBA.

    Raises:
        ImageError: the file is missing, is no picture, is damaged, is larger than Pillow's safety limit
            (about 179 million pixels), or the array has another shape or type.
    """
    return _read(source, whole=True)


def _read(source: ImageSource, *, whole: bool) -> Image.Image:
    """Do the work of ``open_image``; unless ``whole``, what the centred square leaves out may be missing."""
    if isinstance(source, np.ndarray):
        return _to_srgb(_from_array(source), whole=whole)
    what = "the Pillow image" if isinstance(source, Image.Image) else str(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, about damaged metadata and large pictures
            if isinstance(source, Image.Image):
                return _to_srgb(source, whole=whole)
            kind = not_a_file(source)
            if kind:
                raise ImageError(f"is {kind}, not a picture; give a picture file")
            with Image.open(Path(source)) as image:
                if image.format == "EPS":  # Pillow would start Ghostscript
                    raise ImageError("PostScript is not supported; save it as PNG or JPEG")
                return _to_srgb(image, whole=whole)
    except FileNotFoundError:
        raise ImageError(f"{what}: no such file") from None
    except UnidentifiedImageError:
        raise ImageError(
            f"{what}: not a picture that Pillow can read (JPEG, PNG, WebP, GIF, BMP, TIFF ... are)"
        ) from None
    except Image.DecompressionBombError:
        limit = 2 * (Image.MAX_IMAGE_PIXELS or 0) / 1e6
        raise ImageError(
            f"{what}: too many pixels to decode safely (more than {limit:.0f} million); shrink it first"
        ) from None
    except MemoryError:
        raise ImageError(f"{what}: there is not enough memory to decode it; shrink it first") from None
    except ImageError as error:
        raise ImageError(f"{what}: {error}") from None
    except Exception as error:  # Pillow's decoders raise a dozen kinds; all mean that the picture is not usable.
        if isinstance(error, OSError) and error.strerror:  # the file system, not a decoder
            raise ImageError(f"{what}: cannot be read ({error.strerror})") from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ImageError(f"{what}: the picture is damaged or cannot be read ({reason}); copy it again") from error


def to_square(image: Image.Image, size: int) -> NDArray[np.uint8]:
    """Cut the centred square out of an RGB ``image`` and scale it to uint8 ``(size, size, 3)``."""
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2

    def rows(begin: int, end: int) -> NDArray[np.uint8]:
        return np.asarray(image.crop((left, top + begin, left + side, top + end)), np.uint8)

    if side > size:
        return _average(rows, side, size)
    if side < size:
        return np.asarray(Image.fromarray(rows(0, side)).resize((size, size), Image.Resampling.BILINEAR))
    return np.ascontiguousarray(rows(0, side))


def area_average(pixels: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Shrink uint8 ``(side, side, channels)`` to ``(size, size, channels)`` by the exact area average.

    In units of 1/size of a source pixel all overlaps are integers, so the result is exact: each output
    pixel is ``floor(sum / side**2 + 1/2)`` of the sum of overlap times value. (Pillow's BOX filter is not:
    it weighs every pixel whose centre lies inside the window alike.)
    """
    return _average(lambda begin, end: pixels[begin:end], pixels.shape[0], size)


def _average(rows: Callable[[int, int], NDArray[np.uint8]], side: int, size: int) -> NDArray[np.uint8]:
    """Do the work of ``area_average`` in bands of about ``_BAND`` pixels: the rest is never in memory twice.

    ``rows`` returns the source's rows from one number to before another.
    """
    area = side * side
    step = max(1, _BAND * size // area)
    bands = []
    for begin in range(0, size, step):
        end = min(begin + step, size)
        first = begin * side // size
        sums = _overlap_sums(rows(first, -(-end * side // size)), side, size, range(begin, end))
        total = _overlap_sums(sums.transpose(1, 0, 2), side, size, range(size)).transpose(1, 0, 2)
        bands.append(((2 * total + area) // (2 * area)).astype(np.uint8))
    return np.concatenate(bands)


def _overlap_sums(values: NDArray[np.generic], side: int, size: int, windows: range) -> NDArray[np.int64]:
    """Sum the first axis into some of ``size`` equal windows, each value times its overlap in 1/size of a step.

    ``values`` begins at the step in which the first of ``windows`` begins; all windows cover ``side`` steps.
    """
    start = windows[0] * side // size
    out = np.empty((len(windows), *values.shape[1:]), np.int64)
    for place, index in enumerate(windows):
        first, before = divmod(index * side - start * size, size)
        last, after = divmod((index + 1) * side - start * size, size)
        # All of first .. last-1, less what lies before the window, plus the start of last.
        window = values[first:last].sum(axis=0, dtype=np.int64) * size
        window -= values[first].astype(np.int64) * before
        if after:
            window += values[last].astype(np.int64) * after
        out[place] = window
    return out


def _from_array(array: NDArray[np.uint8]) -> Image.Image:
    grey = array.ndim == 2
    if array.dtype != np.uint8 or not (grey or (array.ndim == 3 and array.shape[2] in (3, 4))) or 0 in array.shape:
        raise ImageError(
            f"an array of shape {array.shape} and type {array.dtype} is no picture; "
            "give uint8 of shape (height, width, 3), (height, width, 4) or (height, width)"
        )
    return Image.fromarray(array)


def _to_srgb(image: Image.Image, *, whole: bool) -> Image.Image:
    if 0 in image.size:
        raise ImageError(f"a picture of {image.width} x {image.height} pixels has nothing to show")
    image.load()
    profile, turn = image.info.get("icc_profile"), _turn(image)
    if image.mode == "RGB" and turn is None and not profile and "transparency" not in image.info:
        return image.copy() if whole else image
    image = image.copy() if whole else _around_square(image)
    if turn is not None:
        image = image.transpose(turn)
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _to_8_bit(image)
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, (255, 255, 255, 255))
        image = Image.alpha_composite(white, image).convert("RGB")
    elif image.mode in ("P", "1"):
        image = image.convert("RGB")
    if profile:
        image = _convert_profile(image, profile)
    return image if image.mode == "RGB" else image.convert("RGB")


def _around_square(image: Image.Image) -> Image.Image:
    """Cut off what the centred square leaves out, so that later steps have less to copy.

    Where the rest is odd one column or row too many stays, so that turning and mirroring change nothing.
    """
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    try:
        return image.crop((left, top, image.width - left, image.height - top))
    except Image.DecompressionBombError:  # a caller's own image, larger than Pillow would open
        return image


def _turn(image: Image.Image) -> Image.Transpose | None:
    """Return what makes the picture upright, as its EXIF orientation says; damaged EXIF says nothing."""
    try:
        return _UPRIGHT.get(int(image.getexif().get(ExifTags.Base.Orientation, 1)))
    except Exception:  # Pillow's EXIF parser raises a dozen kinds.
        return None


def _to_8_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image)
    if image.mode == "F" or values.min() < 0 or values.max() > 65535:
        raise ImageError("pictures with more than 16 bits a channel are not supported; save it with 8 or 16")
    if "transparency" in image.info:  # the one value of a grey PNG that is transparent
        values = np.where(values == image.info["transparency"], 65535, values)
    return Image.fromarray(((values.astype(np.uint32) * 2 + 257) // 514).astype(np.uint8))


def _convert_profile(image: Image.Image, profile: bytes) -> Image.Image:
    """Convert to sRGB; a profile that does not fit the picture is ignored, as browsers do."""
    try:
        converted = ImageCms.profileToProfile(
            image, ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB"), outputMode="RGB"
        )
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
    return image if converted is None else converted
