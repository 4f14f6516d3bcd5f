"""Models that end in an image: their output as a picture, whole pictures tile by tile, and picture files.

    with glsl_infer.Session("superres.glslnn") as session:
        pixels = glsl_infer.images.run_whole(session, "photo.jpg")
    glsl_infer.images.save(pixels, "large.png")

``glsl-infer run`` is these functions as a command.
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
"""Pixels that a tile sees beyond what is kept of it, where nobody says how many and the network tells none."""

MOST_SHARE = 3 / 8
"""Of a tile's side: what it may see beyond what is kept of it, to every side, unless somebody asks for more."""

_HALF = 0.5 + 2.0**-12
"""A half, as float32 may have it: over [-1, 1], say, every other byte of an image in [0, 1] lies between two bytes."""

Watch = Callable[[Sequence[Tile], str], Iterable[Tile]]

_OPTIONS: dict[str, dict[str, Any]] = {"JPEG": {"quality": 95, "subsampling": 0}, "WEBP": {"quality": 95}}
"""How to save in formats that lose something."""


def output_shape(bundle: Bundle) -> tuple[int, ...]:
    """Return the shape of the only output: (values,), or (height, width, channels) of an image.

    Raises:
        InputError: the model has several.
    """
    return bundle.manifest.output.shape


def to_picture(output: NDArray[np.floating], bundle: Bundle) -> NDArray[np.uint8]:
    """Return a model's image as bytes: uint8 (height, width, 3), or (height, width) where it has one channel.

    A number becomes the byte that stands for it in the model's first picture with as many channels, or in [0, 1] where
    no picture has; rounded (halves upwards) and clipped.

    Args:
        output: of an output for an ``image``, (height, width, channels).
        bundle: the model.

    Raises:
        InputError: see ``check_picture``.
    """
    check_picture(output.shape)
    channels = output.shape[2]
    scales, zeros = _range_of(bundle, channels)
    numbers = np.floor(np.asarray(output, np.float64) * 255.0 / scales + zeros + _HALF)
    pixels = np.clip(numbers, 0.0, 255.0).astype(np.uint8)
    return pixels[..., 0] if channels == 1 else pixels


def mask_to_picture(result: NDArray[np.floating], output: Output) -> NDArray[np.uint8]:
    """Return a mask as bytes, uint8 (height, width) or (height, width, 3).

    The indices of an argmax become grey values of that number; other numbers are taken from [0, 1] to 0..255.

    Args:
        result: of ``output``.
        output: of the manifest, for a ``mask``.

    Raises:
        InputError: a mask of another shape than (height, width), or with 1 or 3 channels.
    """
    shape = result.shape
    if len(shape) == 3:
        check_picture(shape)
    indices = bool(output.steps) and output.steps[-1].step == ARGMAX
    numbers = np.floor(np.asarray(result, np.float64) * (1.0 if indices else 255.0) + 0.5)
    pixels = np.clip(numbers, 0.0, 255.0).astype(np.uint8)
    return pixels[..., 0] if len(shape) == 3 and shape[2] == 1 else pixels


def check_picture(shape: Sequence[int]) -> None:
    """Refuse an output of ``shape`` that ``to_picture`` can make no picture of.

    Raises:
        InputError: it is no map, or has another number of channels than 1 or 3.
    """
    if len(shape) != 3:
        what = f"a vector of {shape[0]} values" if len(shape) == 1 else f"numbers of shape {tuple(shape)}"
        raise InputError(f"the model ends in {what}, which is not a picture")
    if shape[2] not in (1, 3):
        raise InputError(f"the model's image has {shape[2]} channels; a picture has 1 or 3")


def _range_of(bundle: Bundle, channels: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scales and zeros, (channels,) each, of the first picture with so many channels."""
    for entry in bundle.manifest.inputs:
        if entry.kind == PICTURE and entry.channels == channels and isinstance(entry.value, FeatureMap):
            return entry.value.scale_of, entry.value.zero_of
    return np.ones(channels), np.zeros(channels)


def overlap_of(bundle: Bundle) -> tuple[int, int]:
    """Return by how many pixels tiles overlap unless somebody says, and what their places are multiples of.

    That is as far as the network looks around (``graph.receptive_field``), so that no seam shows; ``OVERLAP`` where it
    looks farther than ``MOST_SHARE``.
    """
    size = bundle.manifest.input.size
    seen = receptive_field(bundle.graph)
    if seen is None or seen.pixels > MOST_SHARE * size or size % seen.step:
        return min(OVERLAP, (size - 1) // 2), 1
    return seen.pixels, seen.step


def run_whole(
    session: Session,
    image: ImageSource,
    *,
    overlap: int | None = None,
    raw: bool = False,
    watch: Watch = lambda tiles, _: tiles,
) -> NDArray[Any]:
    """Run a model on a picture of any size, tile by tile, and put the outputs together.

    The picture keeps its pixels: nothing is cut off or scaled. One below the model's size has its edges repeated.

    Args:
        session: of a model whose image is as large as its input, or 2, 3 ... times as large.
        image: a path, a Pillow image, or a uint8 array (height, width[, 3 or 4]).
        overlap: pixels that a tile sees beyond what is kept of it, except at the picture's own edges; ``overlap_of``
            by default. Where the network looks no further, the result is that of the whole picture at once.
        raw: return the numbers as they are, float32 (height, width, channels), instead of ``to_picture`` of them.
        watch: is given the tiles and what they are called; returns an iterable over them, such as a progress bar.

    Raises:
        ImageError: the picture cannot be read.
        InputError: the model reads something else than a square colour picture or ends in something else, the overlap
            is too large, or memory too small.
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
        for output in session.stream(tiles):  # the GPU computes one while the CPU puts another in its place
            yield output if raw else to_picture(output, bundle)

    return tiling.through(run, pixels, size, watch(places, "tiles"))


def _pixels(image: ImageSource) -> NDArray[np.uint8]:
    """Return an image as pixels, (height, width, 3); where it is that already, itself: it may be large."""
    if isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.shape[2:] == (3,) and image.size > 0:
        return image
    return np.asarray(preprocess.open_image(image), np.uint8)


def save(pixels: NDArray[np.uint8], path: str | Path) -> None:
    """Write a picture; the suffix says how. An existing file is replaced only when all is written.

    Args:
        pixels: uint8 (height, width) or (height, width, 3).
        path: the file to write.

    Raises:
        InputError: an unknown suffix, or the file cannot be written.
    """
    path, kind = Path(path), format_of(path)
    try:
        with writing(path) as file:
            Image.fromarray(pixels).save(file, kind, **_OPTIONS.get(kind, {}))
    except (OSError, ValueError, KeyError, OverflowError, struct.error) as error:  # what Pillow's writers raise
        raise cannot_be_written(path, error) from None


def format_of(path: str | Path) -> str:
    """Return what Pillow calls the format of a picture file that is to be written.

    Raises:
        InputError: the suffix is none of a format that Pillow writes.
    """
    kind = Image.registered_extensions().get(Path(path).suffix.lower(), "")
    if kind not in Image.SAVE:
        raise InputError(f"{path}: no picture format that can be written has this suffix; name the file *.png")
    return kind
