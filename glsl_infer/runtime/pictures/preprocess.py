"""Preprocessing of pictures into the bytes that a network reads: one definition for training and every runner.

1. The first frame of an animation, EXIF orientation applied, 16-bit values scaled to 8 bits.
2. Alpha over white, or kept for networks that read it; an ICC profile converted to sRGB; no linearisation: bytes are
   averaged as they are. Grey for networks that read one channel.
3. The region selected by the input's fit (``fits``).
4. Scaling (``scaling``): shrinking, the exact area average in integers; enlarging, Pillow's bilinear filter.

docs/reference/bundle-format.md repeats this definition for authors of runners.
"""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np
from PIL import ExifTags, Image, UnidentifiedImageError

from glsl_infer.bundle.manifest import CENTER_SQUARE, Input
from glsl_infer.errors import ImageError
from glsl_infer.runtime.pictures import scaling
from glsl_infer.runtime.pictures.decoding import check_metadata, fit_into_memory, missing_decoder
from glsl_infer.runtime.pictures.scaling import area_average
from glsl_infer.support.files import not_a_file
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from PIL import ImageFile

__all__ = ["ImageSource", "area_average", "load", "load_for", "open_image", "to_square"]

ImageSource = Union[str, Path, Image.Image, NDArray[np.uint8]]

_MORE_THAN_16 = "images with more than 16 bits a channel are not supported; save it with 8 or 16"

_FORMATS = (
    *("JPEG", "MPO", "PNG", "WEBP", "AVIF", "HEIF", "GIF", "BMP", "DIB", "TIFF", "PPM", "JPEG2000", "TGA", "QOI"),
    *("PCX", "SGI", "XBM"),
)
"""Formats allowed in untrusted files. Icons can contain pictures of another size than declared. Many other formats are
rarely used, and their decoders little tested.
"""

_WITH_ALPHA = ("LA", "PA", "RGBA", "La", "RGBa")
"""Pillow's modes with a channel for opacity."""

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""Transposition that makes a picture upright, by its EXIF orientation."""


def load(
    source: ImageSource, size: Union[int, tuple[int, int]], *, fit: str = CENTER_SQUARE, channels: int = 3
) -> NDArray[np.uint8]:
    """Return ``source`` as the network reads it: uint8 ``(height, width, channels)``, sRGB.

    Args:
        source: a path, a Pillow image or a uint8 array; see ``open_image``.
        size: ``(height, width)`` in pixels, or the side of a square.
        fit: rule for a picture of another shape, one of ``glsl_infer.bundle.manifest.FITS``.
        channels: 1 (grey), 3 (colours) or 4 (colours and alpha, which is 255 if the picture has none).

    Raises:
        ImageError: the picture cannot be read; the message names the file.
    """
    height, width = (size, size) if isinstance(size, int) else size
    full_image, alpha, grey = fit != CENTER_SQUARE, channels == 4, channels == 1
    return scaling.fit(
        _read(source, full_image=full_image, alpha=alpha, grey=grey, least=max(height, width)), fit, height, width
    )


def load_for(source: ImageSource, model_input: Input) -> NDArray[np.uint8]:
    """Return ``source`` as an input of a bundle reads it: uint8 (height, width, channels), with the input's fit.

    Raises:
        ImageError: the picture cannot be read; the message names the file.
    """
    size, fit = (model_input.height, model_input.width), model_input.fit or CENTER_SQUARE
    return load(source, size, fit=fit, channels=model_input.channels)


def open_image(source: ImageSource) -> Image.Image:
    """Return ``source`` (a path, a Pillow image or a uint8 array) as an upright 8-bit sRGB Pillow image.

    Arrays are ``(height, width)`` grey, ``(height, width, 3)`` RGB or ``(height, width, 4)`` RGBA.

    Raises:
        ImageError: the file is missing, is not a picture, is damaged, is larger than Pillow's safety limit (about 179
            million pixels), would take more memory than is free, or the array has another shape or type.
    """
    return _read(source, full_image=True)


def _read(
    source: ImageSource, *, full_image: bool, alpha: bool = False, grey: bool = False, least: int = 0
) -> Image.Image:
    """Return ``source`` as ``open_image`` does, with further options.

    Args:
        source: see ``open_image``.
        full_image: if false, pixels outside the centred square can be missing.
        alpha: return RGBA instead of compositing over white.
        grey: return L.
        least: minimum pixels on the shorter side of a file if memory is short; 0: no reduction.
    """
    image = _opened(source, full_image=full_image, alpha=alpha, least=least)
    return image.convert("L") if grey else image


def _opened(source: ImageSource, *, full_image: bool, alpha: bool, least: int) -> Image.Image:
    """Do as ``_read``, in colours. Every problem of an image is an ``ImageError`` that names it."""
    if isinstance(source, np.ndarray):
        return _to_srgb(_from_array(source), full_image=full_image, alpha=alpha)
    if not isinstance(source, (str, os.PathLike, Image.Image)):
        raise ImageError(f"an image is a path, a Pillow image or an array, not {type(source).__name__}")
    label = "the Pillow image" if isinstance(source, Image.Image) else str(source)
    missing = None if isinstance(source, Image.Image) else missing_decoder(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, about damaged metadata and large pictures
            if isinstance(source, Image.Image):
                return _to_srgb(source, full_image=full_image, alpha=alpha)
            problem = not_a_file(source)
            if problem:
                raise ImageError(f"is {problem}, not an image; give an image file")
            check_metadata(source)
            with Image.open(Path(source)) as image:
                _check_format(image)
                fit_into_memory(image, full_image=full_image, least=least)
                return _to_srgb(image, full_image=full_image, alpha=alpha)
    except FileNotFoundError:
        raise ImageError(f"{label}: no such file") from None
    except UnidentifiedImageError:
        if not isinstance(source, Image.Image) and Path(source).stat().st_size == 0:
            raise ImageError(f"{label}: the file is empty; copy it again") from None
        raise ImageError(
            f"{label}: {missing or 'not an image that Pillow can read; give a JPEG, PNG, WebP, GIF, BMP or TIFF file'}"
        ) from None
    except Image.DecompressionBombError:
        limit = 2 * (Image.MAX_IMAGE_PIXELS or 0) / 1e6
        raise ImageError(
            f"{label}: too many pixels to decode safely (more than {limit:.0f} million); shrink it first"
        ) from None
    except MemoryError:
        raise ImageError(f"{label}: there is not enough memory to decode it; shrink it first") from None
    except ImageError as error:
        raise ImageError(f"{label}: {error}") from None
    except Exception as error:  # Pillow's decoders raise a dozen types; all mean an unusable picture
        if isinstance(error, OSError) and error.strerror:  # the file system, not a decoder
            raise ImageError(f"{label}: cannot be read ({error.strerror})") from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ImageError(f"{label}: the image is damaged or cannot be read ({reason}); copy it again") from error


def _check_format(image: ImageFile.ImageFile) -> None:
    """Refuse an opened file in a format that is not read, before its pixels are decoded.

    Raises:
        ImageError: the format is unsupported, or has more than 16 bits in a channel.
    """
    if image.format == "EPS":  # Pillow would start Ghostscript
        raise ImageError("PostScript is not supported; save it as PNG or JPEG")
    if image.format not in _FORMATS:
        raise ImageError(f"{image.format} images are not read; save it as PNG or JPEG")
    if image.mode in ("I", "F") and any(";32" in mode for tile in image.tile for mode in _raw_modes(tile[3])):
        raise ImageError(_MORE_THAN_16)


def _raw_modes(arguments: object) -> list[str]:
    """Return the pixel formats among the arguments of Pillow's decoder for a tile, for example 'I;32S'."""
    return [mode for mode in (arguments if isinstance(arguments, tuple) else (arguments,)) if isinstance(mode, str)]


def to_square(image: Image.Image, size: int) -> NDArray[np.uint8]:
    """Cut the centred square out of an RGB ``image`` and scale it to uint8 ``(size, size, 3)``."""
    return scaling.fit(image, CENTER_SQUARE, size, size)


def _from_array(array: NDArray[np.uint8]) -> Image.Image:
    grey = array.ndim == 2
    if array.dtype != np.uint8 or not (grey or (array.ndim == 3 and array.shape[2] in (3, 4))) or 0 in array.shape:
        raise ImageError(
            f"an array of shape {array.shape} and type {array.dtype} is not an image; "
            "give uint8 of shape (height, width, 3), (height, width, 4) or (height, width)"
        )
    return Image.fromarray(array)


def _to_srgb(image: Image.Image, *, full_image: bool, alpha: bool = False) -> Image.Image:
    """Return an upright RGB or RGBA copy in sRGB, with 8 bits.

    Args:
        image: an image in any mode of Pillow.
        full_image: if false, pixels outside the centred square can be missing, and an image that needs no change is
            not copied.
        alpha: return RGBA instead of compositing over white.
    """
    if 0 in image.size:
        raise ImageError(f"an image of {image.width} x {image.height} pixels has nothing to show")
    image.load()
    profile, turn = image.info.get("icc_profile"), _turn(image)
    if image.mode == "RGB" and turn is None and not profile and not alpha and "transparency" not in image.info:
        return image.copy() if full_image else image
    image = image.copy() if full_image else _around_square(image)
    if turn is not None:
        image = image.transpose(turn)
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _to_8_bit(image)
    opacity: Image.Image | int = 255
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        image = image.convert("RGBA")
        if alpha:
            opacity = image.getchannel("A")
        else:
            white = Image.new("RGBA", image.size, (255, 255, 255, 255))
            image = Image.alpha_composite(white, image)
        image = image.convert("RGB")
    elif image.mode in ("P", "1"):
        image = image.convert("RGB")
    if profile:
        image = _convert_profile(image, profile)
    image = image if image.mode == "RGB" else image.convert("RGB")
    image.info = {}  # describes the original: its orientation would be applied again
    if alpha:
        image.putalpha(opacity)
    return image


def _around_square(image: Image.Image) -> Image.Image:
    """Crop a picture to its centred square, so that later steps copy less.

    If the remainder is odd, one more column or row is kept, so that rotation and mirroring give the same square.
    """
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    try:
        return image.crop((left, top, image.width - left, image.height - top))
    except Image.DecompressionBombError:  # a caller's own image above Pillow's limit for files
        return image


def _turn(image: Image.Image) -> Image.Transpose | None:
    """Return the transposition for the picture's EXIF orientation, or None; damaged EXIF is ignored."""
    try:
        return _UPRIGHT.get(int(image.getexif().get(ExifTags.Base.Orientation, 1)))
    except Exception:  # Pillow's EXIF parser raises a dozen types
        return None


def _to_8_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image)
    if image.mode == "F" or values.min() < 0 or values.max() > 65535:
        raise ImageError(_MORE_THAN_16)
    if "transparency" in image.info:  # the transparent value of a grey PNG
        values = np.where(values == image.info["transparency"], 65535, values)
    return Image.fromarray(((values.astype(np.uint32) * 2 + 257) // 514).astype(np.uint8))


def _convert_profile(image: Image.Image, profile: bytes) -> Image.Image:
    """Convert to sRGB; a profile that does not fit the picture is ignored, as in browsers."""
    from PIL import ImageCms

    try:
        converted = ImageCms.profileToProfile(
            image, ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB"), outputMode="RGB"
        )
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image
    return image if converted is None else converted
