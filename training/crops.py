"""Pairs of pictures for super-resolution: a sharp crop, and the same at half its width and height.

The small one is the exact 2x2 area average of the sharp one, rounded to bytes as a camera or a decoder
would hand it over: what the network reads on a device is bytes as well.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.formats import missing_decoder
from glsl_infer.runtime.pictures.paths import SUFFIXES, is_hidden, is_image
from glsl_infer.runtime.pictures.preprocess import open_image
from training import reading
from training.class_folders import SPLITS, draw

Picture = NDArray[np.uint8]

VAL_RATIO, TEST_RATIO = 0.15, 0.1
"""Shares of the pictures that lie in no train, val or test folder."""


def find(folder: Path) -> dict[str, list[Path]]:
    """List the pictures anywhere under ``folder``, links followed, by split; hidden ones are passed over.

    A folder called train, val or test decides (the innermost one), else a hash of the path below ``folder``.

    Raises:
        InputError: no folder, or no pictures in the train or the val split.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    splits: dict[str, list[Path]] = {name: [] for name in SPLITS}
    seen = set()  # a link may lead back up
    for name, folders, files in os.walk(folder, followlinks=True):
        seen.add(os.path.realpath(name))
        shown = sorted(entry for entry in folders if not is_hidden(entry))
        folders[:] = [entry for entry in shown if os.path.realpath(Path(name, entry)) not in seen]
        for file in sorted(files):
            path = Path(name, file)
            if is_image(path) and missing_decoder(path) is None:
                splits[_split(path.relative_to(folder))].append(path)
    for name in ("train", "val"):
        if not splits[name]:
            raise InputError(f"{folder}: no pictures in the {name} split (any of {', '.join(sorted(SUFFIXES))})")
    return splits


def read(paths: list[Path], crop: int, *, strict: bool = False) -> list[Picture]:
    """Read pictures of which sharp crops of side ``crop`` can be taken.

    One that is large enough is halved first: that averages away the blocks and rings of JPEG and the blur of
    the lens, which a network would learn to imitate instead of detail. One with a side below ``crop`` is left out, and
    one that cannot be read too, with a warning; with ``strict`` that is an error. Sides come out even.

    Raises:
        InputError: none of them can be read or is large enough, or with ``strict`` any cannot be read.
    """
    pixels_of: dict[int, Picture] = {}

    def take(index: int) -> None:
        pixels = _even(np.asarray(open_image(paths[index]), np.uint8))
        pixels_of[index] = _even(halve(pixels)) if min(pixels.shape[:2]) >= 2 * crop else pixels

    bad = reading.each(paths, take, strict=strict)
    good = [index for index in range(len(paths)) if index not in bad]
    pictures = [pixels_of[index] for index in good if min(pixels_of[index].shape[:2]) >= crop]
    if not pictures:
        raise InputError(f"none of the {len(paths)} pictures is at least {crop} pixels wide and high")
    return pictures


def halve(pixels: Picture) -> Picture:
    """Return the exact 2x2 area average of uint8 ``(..., 2h, 2w, channels)``, rounded, halves upwards."""
    *batch, height, width, channels = pixels.shape
    blocks = pixels.reshape(*batch, height // 2, 2, width // 2, 2, channels)
    averaged: Picture = ((blocks.sum(axis=(-4, -2), dtype=np.uint16) + 2) // 4).astype(np.uint8)
    return averaged


def batch(pictures: list[Picture], crop: int, count: int, rng: np.random.Generator) -> tuple[Picture, Picture]:
    """Draw ``count`` random crops, mirrored and turned every way.

    Returns:
        The small ones, uint8 ``(count, crop / 2, crop / 2, 3)``, and the sharp ones, ``(count, crop, crop, 3)``.
    """
    sharp = np.stack([_crop(pictures[int(rng.integers(len(pictures)))], crop, rng) for _ in range(count)])
    return halve(sharp), sharp


def _crop(picture: Picture, side: int, rng: np.random.Generator) -> Picture:
    top, left = (int(rng.integers(length - side + 1)) for length in picture.shape[:2])
    window = picture[top : top + side, left : left + side]
    if rng.random() < 0.5:
        window = window[:, ::-1]
    return np.rot90(window, int(rng.integers(4)))


def _even(pixels: Picture) -> Picture:
    return np.ascontiguousarray(pixels[: pixels.shape[0] // 2 * 2, : pixels.shape[1] // 2 * 2])


def _split(path: Path) -> str:
    named = [part for part in path.parts[:-1] if part in SPLITS]
    return named[-1] if named else draw(path.as_posix(), VAL_RATIO, TEST_RATIO)
