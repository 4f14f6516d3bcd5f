"""Decoders for picture files: limits of memory, checked before decoding, and plugins for AVIF and HEIC."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from PIL import ExifTags, Image, ImageFile

from glsl_infer.errors import ImageError, pip_install
from glsl_infer.support import memory
from glsl_infer.support.files import reading

MOST_SHARE = 0.75
"""Share of the free memory available to decoding. A picture that needs more is decoded smaller, or refused."""

_PLAIN = 8
"""Measured peak bytes per pixel of a picture in RGB, L or P."""

_CUT = 6
"""Measured peak bytes per pixel if only a square of such a picture is needed."""

_CONVERTED = 14
"""Measured peak bytes per pixel of a picture in another mode."""

_LAYERED = 20
"""Measured peak bytes per pixel of a picture with alpha, or in WebP, AVIF or HEIC."""

_COEFFICIENTS = 6
"""Bytes per pixel that libjpeg keeps of a progressive JPEG at any decoded size."""

_DRAFTS = (2, 4, 8)
"""Divisors of width and height at which a JPEG can be decoded."""

_MOST_SCANS = 100
"""Maximum number of scans of a JPEG. Each takes the time of a full picture, even with few bytes. 1 and 10 are usual."""

_MOST_METADATA = 32 << 20
"""Limit of bytes in segments before a JPEG's pixels, for which Pillow's time can be quadratic."""

_MOST_BEFORE = 100_000
"""Limit of other bytes before a JPEG's pixels."""

_START = b"\xff\xd8"
"""First bytes of a JPEG."""

_MARK = 0xFF
"""First byte of each marker of a JPEG."""

_PIXELS = 0xDA
"""Second byte of the marker before a JPEG's pixels."""

_WITHOUT_LENGTH = (0x00, 0x01, *range(0xD0, 0xDA), _MARK)
"""Second bytes of markers without a segment."""

_SCAN = bytes((_MARK, _PIXELS))

_CHUNK = 1 << 20
"""Bytes read at a time."""

_JPEG = ("JPEG", "MPO")
_TWICE = ("WEBP", "AVIF", "HEIF")
_ALPHA = ("LA", "PA", "RGBA", "La", "RGBa")

_PLUGINS = {
    ".avif": ("pillow_avif", "pillow-avif-plugin"),
    ".heic": ("pillow_heif", "pillow-heif"),
    ".heif": ("pillow_heif", "pillow-heif"),
}
"""By suffix: the module of a plugin for Pillow, and its package."""


def check_metadata(path: str | Path) -> None:
    """Check the size of the metadata before the pixels of a JPEG file, without storing it.

    Raises:
        ImageError: the metadata is unreasonably large.
        InputError, OSError: the file cannot be read.
    """
    with reading(path) as file:
        if file.read(len(_START)) != _START:
            return
        total, marked = 0, False
        for _ in range(_MOST_BEFORE):
            byte = file.read(1)
            if not byte or (marked and byte[0] == _PIXELS):
                return
            if marked and byte[0] not in _WITHOUT_LENGTH:
                length = int.from_bytes(file.read(2), "big")
                file.seek(max(0, length - 2), os.SEEK_CUR)
                total += length
                if total > _MOST_METADATA:
                    break
            marked = byte[0] == _MARK
    raise ImageError(f"a JPEG with more than {_MOST_METADATA >> 20} MiB before its pixels; save it anew without them")


def fit_into_memory(image: ImageFile.ImageFile, *, full_image: bool, least: int) -> None:
    """Make sure that an opened, undecoded picture fits into the free memory.

    Args:
        image: the picture. A JPEG can be set to decode at a half, a fourth or an eighth of its size.
        full_image: if false, only the centred square is used.
        least: pixels that its shorter side must keep; 0 forbids smaller decoding.

    Raises:
        ImageError: it still needs too much memory, or it is a JPEG of more than ``_MOST_SCANS`` scans.
    """
    if image.format in _JPEG and _scans(image) > _MOST_SCANS:
        raise ImageError(f"a JPEG of more than {_MOST_SCANS} scans, which take minutes to decode; save it anew")
    free = memory.available()
    if free is None or _need(image, image.size, full_image) <= MOST_SHARE * free:
        return
    if image.format in _JPEG and least:
        for part in _DRAFTS:
            size = -(-image.width // part), -(-image.height // part)
            if min(size) >= least and _need(image, size, full_image) <= MOST_SHARE * free:
                image.draft(None, size)
                return
    raise ImageError(
        f"an image of {image.width} x {image.height} pixels, which takes about "
        f"{_need(image, image.size, full_image) / 1e6:,.0f} MB to decode, where {free / 1e6:,.0f} MB of memory are "
        "free; shrink it first"
    )


def _scans(image: ImageFile.ImageFile) -> int:
    """Return the number of scans in a JPEG file. Compressed data never contains the marker of a scan."""
    file: Any = image.fp
    offset, count, last = file.tell(), 0, b""
    file.seek(0)
    while chunk := file.read(_CHUNK):
        count += (last + chunk).count(_SCAN)
        last = chunk[-1:] if chunk[-1:] == _SCAN[:1] else b""
    file.seek(offset)
    return count


def _need(image: Image.Image, size: tuple[int, int], full_image: bool) -> int:
    """Return the peak memory in bytes for decoding a picture at a size."""
    pixels = size[0] * size[1]
    coefficients = _COEFFICIENTS * image.width * image.height if image.info.get("progressive") else 0
    if image.format in _TWICE or image.mode in _ALPHA or "transparency" in image.info:
        return coefficients + _LAYERED * pixels
    if image.mode not in ("RGB", "L", "P") or _may_be_turned(image) or image.info.get("icc_profile"):
        return coefficients + _CONVERTED * pixels
    return coefficients + (_PLAIN if full_image else _CUT) * pixels


def _may_be_turned(image: Image.Image) -> bool:
    """Return whether EXIF can request a rotation. Except for JPEG files, the exact answer would require decoding."""
    if image.format not in _JPEG:
        return "exif" in image.info
    try:
        return bool(image.getexif().get(ExifTags.Base.Orientation, 1) != 1)
    except Exception:  # Pillow's EXIF parser raises a dozen types
        return False


def missing_decoder(path: str | Path) -> str | None:
    """Return why files with the suffix of ``path`` cannot be decoded, with the command that helps; None if they can.

    If a plugin for the format is installed, it is registered with Pillow.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in _PLUGINS or (suffix == ".avif" and _has_avif()):
        return None
    module, package = _PLUGINS[suffix]
    try:
        plugin = importlib.import_module(module)
    except ImportError:
        return f"Pillow cannot read {suffix} images without a plugin; install it: {pip_install(package)}"
    if suffix != ".avif" and "HEIF" not in Image.OPEN:
        plugin.register_heif_opener()
    return None


def _has_avif() -> bool:
    """Return whether Pillow itself decodes AVIF, as most of its wheels do since 11.3."""
    from PIL import features  # imported late: the import takes longer than the check, and few files need it

    return "avif" in features.modules and bool(features.check("avif"))
