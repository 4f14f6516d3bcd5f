"""Models with an image as output: to a picture, large pictures tile by tile, and picture files.

    with glsl_infer.Session("superres.glslnn") as session:
        pixels = glsl_infer.images.run_whole(session, "photo.jpg")
    glsl_infer.images.save(pixels, "large.png")

``glsl-infer run`` offers these functions as a command.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from glsl_infer.bundle.manifest import PICTURE
from glsl_infer.errors import InputError
from glsl_infer.graph.host_steps import ARGMAX
from glsl_infer.graph.receptive_field import receptive_field
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.pictures import preprocess, tiling
from glsl_infer.runtime.pictures.preprocess import ImageSource
from glsl_infer.runtime.pictures.tiling import Tile
from glsl_infer.support.files import cannot_be_written, writing
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.bundle import Bundle
    from glsl_infer.bundle.manifest import Output
    from glsl_infer.runtime.session import Session

OVERLAP = 8
"""Default overlap of tiles in pixels, if the receptive field of the network is unknown or too large."""

MOST_SHARE = 3 / 8
"""Largest default overlap on each side, as a share of a tile's side."""

_HALF = 0.5 + 2.0**-12
"""A half, with a margin for float32: over [-1, 1], for example, every other byte of a [0, 1] image is halfway between
two bytes.
"""

Watch = Callable[[Sequence[Tile], str], Iterable[Tile]]

_OPTIONS: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"quality": 95}}
"""Options of Pillow for lossy formats."""


def output_shape(bundle: Bundle) -> tuple[int, ...]:
    """Return the shape of the only output: (values,), or (height, width, channels) of an image.

    Raises:
        InputError: the model has several.
    """
    return bundle.manifest.output.shape


def to_picture(output: NDArray[np.floating], bundle: Bundle) -> NDArray[np.uint8]:
    """Return a model's image as bytes: uint8 (height, width, 3), or (height, width) for one channel.

    A value becomes the byte that represents it in the model's first picture input with as many channels, or in [0, 1]
    without such an input. It is rounded (halves upwards) and clipped.

    Args:
        output: the array of an ``image`` output, (height, width, channels).
        bundle: the model.

    Raises:
        InputError: see ``check_picture``.
    """
    check_picture(output.shape)
    channels = output.shape[2]
    scales, zeros = _range_of(bundle, channels)
    levels = np.floor(np.asarray(output, np.float64) * 255.0 / scales + zeros + _HALF)
    pixels = np.clip(levels, 0.0, 255.0).astype(np.uint8)
    return pixels[..., 0] if channels == 1 else pixels


def mask_to_picture(result: NDArray[np.floating], output: Output) -> NDArray[np.uint8]:
    """Return a mask as bytes, uint8 (height, width) or (height, width, 3).

    Indices from an argmax become grey values equal to the index. Other values are scaled from [0, 1] to 0..255.

    Args:
        result: the array of ``output``.
        output: the ``mask`` output in the manifest.

    Raises:
        InputError: the shape is neither (height, width) nor (height, width, channels) with 1 or 3 channels.
    """
    shape = result.shape
    if len(shape) == 3:
        check_picture(shape)
    indices = bool(output.steps) and output.steps[-1].step == ARGMAX
    levels = np.floor(np.asarray(result, np.float64) * (1.0 if indices else 255.0) + 0.5)
    pixels = np.clip(levels, 0.0, 255.0).astype(np.uint8)
    return pixels[..., 0] if len(shape) == 3 and shape[2] == 1 else pixels


def check_picture(shape: Sequence[int]) -> None:
    """Refuse an output shape that ``to_picture`` cannot convert.

    Raises:
        InputError: the output is not a map, or has neither 1 nor 3 channels.
    """
    if len(shape) != 3:
        subject = f"a vector of {shape[0]} values" if len(shape) == 1 else f"numbers of shape {tuple(shape)}"
        raise InputError(f"the model ends in {subject}, which is not an image")
    if shape[2] not in (1, 3):
        raise InputError(f"the model's image has {shape[2]} channels; an image has 1 or 3")


def _range_of(bundle: Bundle, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scales and zeros, (channels,) each, of the first picture input with this number of channels."""
    for model_input in bundle.manifest.inputs:
        value = model_input.value
        if model_input.kind == PICTURE and model_input.channels == channels and isinstance(value, FeatureMap):
            return value.scale_of, value.zero_of
    return np.ones(channels), np.zeros(channels)


def overlap_of(bundle: Bundle) -> tuple[int, int]:
    """Return the default overlap of tiles in pixels, and the step of their positions.

    The overlap is the receptive field (``graph.receptive_field``), so that no seam is visible. It is ``OVERLAP`` if the
    field exceeds ``MOST_SHARE`` of a tile or is unknown.
    """
    size = bundle.manifest.input.size
    field = receptive_field(bundle.graph)
    if field is None or field.pixels > MOST_SHARE * size or size % field.step:
        return min(OVERLAP, (size - 1) // 2), 1
    return field.pixels, field.step


def run_whole(
    session: Session,
    image: ImageSource,
    *,
    overlap: int | None = None,
    raw: bool = False,
    watch: Watch = lambda tiles, _: tiles,
) -> NDArray[Any]:
    """Run a model on a picture of any size, tile by tile, and assemble the outputs.

    The picture keeps its pixels: it is neither cropped nor scaled. If it is below the model's size, its edges repeat.

    Args:
        session: of a model whose image is as large as its input, or 2, 3 ... times as large.
        image: a path, a Pillow image, or a uint8 array (height, width[, 3 or 4]).
        overlap: margin in pixels around the kept region of a tile, except at the edges of the picture. Default:
            ``overlap_of``. If it covers the receptive field, the result equals that of the full image at once.
        raw: return the output's values, float32 (height, width, channels), instead of bytes from ``to_picture``.
        watch: called with the tiles and their name in the plural; returns an iterable over the tiles, such as a
            progress bar.

    Raises:
        ImageError: the picture cannot be read.
        InputError: the model's input is not a square colour picture, its output does not fit, the overlap is too large,
            or memory is too small.
    """
    bundle, size = session.bundle, session.bundle.manifest.input.size
    shape = output_shape(bundle)
    tiling.factor_of(shape, size)
    if bundle.manifest.input.channels != 3:
        raise InputError(f"tiles have 3 channels; the model reads {bundle.manifest.input.channels}")
    if not raw:
        check_picture(shape)
    pixels = _pixels(image)
    height, width = pixels.shape[:2]
    beyond, step = overlap_of(bundle) if overlap is None else (overlap, 1)
    places = tiling.tiles(height, width, size, beyond, step)

    def run(tiles: Iterator[NDArray[np.uint8]]) -> Iterator[NDArray[Any]]:
        for output in session.stream(tiles):  # the GPU computes a tile while the CPU stores the one before
            yield output if raw else to_picture(output, bundle)

    return tiling.through(run, pixels, size, watch(places, "tiles"))


def _pixels(image: ImageSource) -> NDArray[np.uint8]:
    """Return an image as pixels, (height, width, 3). An array in this form is not copied: it can be large."""
    if isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.shape[2:] == (3,) and image.size > 0:
        return image
    return np.asarray(preprocess.open_image(image), np.uint8)


def save(pixels: NDArray[np.uint8], path: str | Path) -> None:
    """Write a picture in the format of the suffix. An existing file is replaced only after the new one is complete.

    Args:
        pixels: uint8 (height, width) or (height, width, 3).
        path: the file to write.

    Raises:
        InputError: the suffix is unknown, or the file cannot be written.
    """
    path, picture_format = Path(path), format_of(path)
    try:
        with writing(path) as file:
            Image.fromarray(pixels).save(file, picture_format, **_OPTIONS.get(picture_format, {}))
    except (OSError, ValueError, KeyError, OverflowError, struct.error) as error:  # all from Pillow's writers
        raise cannot_be_written(path, error) from None


def format_of(path: str | Path) -> str:
    """Return Pillow's name for the format of a picture file to write.

    Raises:
        InputError: Pillow cannot write a format with this suffix.
    """
    picture_format = Image.registered_extensions().get(Path(path).suffix.lower(), "")
    if picture_format not in Image.SAVE:
        raise InputError(f"{path}: no image format that can be written has this suffix; name the file *.png")
    return picture_format
