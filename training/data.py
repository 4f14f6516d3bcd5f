"""Data sets of images in class folders, single or merged, and their pixels.

    dataset = data.find(folder)                    # or several: data.find([one, other])
    pixels, labels, paths = data.read(dataset.splits["val"], 257)

``training.class_folders`` defines the folder structure. Problems that are not errors are reported as warnings on
standard error: unreadable images, other files, and images in two splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.preprocess import load
from training import duplicates, reading
from training.class_folders import SPLITS, Listing, a_few, check_distinct, list_folder
from training.command import warn
from training.manifest import coarse_labels

Folders = Union[str, Path, Sequence[Union[str, Path]]]


@dataclass(frozen=True)
class Split:
    """Images of one split.

    Attributes:
        paths: the files.
        labels: label index of each image, int64 ``(images,)``.
    """

    paths: tuple[Path, ...]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """A data set.

    Attributes:
        labels: names of its classes, in the order of label indices.
        splits: train, val and, if present, test.
        coarse: coarse label of each label, if a manifest has them.
    """

    labels: tuple[str, ...]
    splits: dict[str, Split]
    coarse: dict[str, str] | None = None


class Pictures(NamedTuple):
    """Readable images of a split.

    Attributes:
        pixels: uint8 ``(images, size, size, 3)``.
        labels: int64 ``(images,)``.
        paths: the files.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    paths: tuple[Path, ...]


def find(folders: Folders, *, val_ratio: float = 0.15, test_ratio: float = 0.1) -> Dataset:
    """List the images of a data set, or of several merged ones.

    If the folder has sub-folders train, val (and test), each has a folder for each class. Otherwise the folder itself
    has these, and an image's split is derived from a hash of its name, independent of other images. Labels have the
    order of ``labels.txt``, or alphabetical order. When merged, labels are concatenated in the order of the folders,
    the splits are those common to all, and a label without a coarse label is its own coarse label.

    Raises:
        InputError: a folder is not a data set, splits and labels do not agree, or two data sets share a label.
    """
    paths = [Path(folders)] if isinstance(folders, (str, Path)) else [Path(folder) for folder in folders]
    if not paths:
        raise InputError("no data set given; give one or more folders")
    listings = [list_folder(folder, val_ratio=val_ratio, test_ratio=test_ratio) for folder in paths]
    merged = _merge(paths, listings)
    groups = duplicates.find(merged.splits)
    if groups:
        warn(
            f"{len(groups)} images are there more than once, in two splits or under two labels; remove all but one:",
            (" = ".join(map(str, group)) for group in groups),
        )
    coarse_maps = [coarse_labels(folder, listing.labels) for folder, listing in zip(paths, listings)]
    coarse = {
        label: label if coarse_of is None else coarse_of[label]
        for coarse_of, listing in zip(coarse_maps, listings)
        for label in listing.labels
    }
    return Dataset(
        merged.labels,
        {name: _split(pictures) for name, pictures in merged.splits.items()},
        None if all(coarse_of is None for coarse_of in coarse_maps) else coarse,
    )


def read(split: Split, size: int, *, strict: bool = False) -> Pictures:
    """Read the images of a split with the engine's preprocessing, into one array without a temporary copy.

    Unreadable images are left out and listed in a warning. A progress bar is shown on a terminal.

    Args:
        split: the images.
        size: side in pixels.
        strict: make unreadable images an error.

    Raises:
        InputError: the memory is insufficient, all images of a class are unreadable, or with ``strict`` any image.
    """
    count = len(split.paths)
    try:
        pixels = np.empty((count, size, size, 3), np.uint8)
    except MemoryError:
        needed = count * size * size * 3 / 2**30
        raise InputError(f"{count} images of {size} x {size} pixels need {needed:.1f} GiB of memory") from None

    def fill(index: int) -> None:
        pixels[index] = load(split.paths[index], size)

    bad = reading.each(split.paths, fill, strict=strict)
    good = [index for index in range(len(split.paths)) if index not in bad]
    for row, index in enumerate(good):  # in place, because a copy would double the memory
        if row != index:
            pixels[row] = pixels[index]
    labels, paths = split.labels[good], tuple(split.paths[index] for index in good)
    lost_labels = set(split.labels.tolist()) - set(labels.tolist())
    if lost_labels:
        folders = sorted(
            {str(path.parent) for path, label in zip(split.paths, split.labels) if int(label) in lost_labels}
        )
        raise InputError(f"no image of a class can be read: {a_few(folders)}")
    return Pictures(pixels[: len(good)], labels, paths)


def _merge(folders: list[Path], listings: list[Listing]) -> Listing:
    """Merge listings, with the labels of each after those of the previous ones."""
    if len(listings) == 1:
        return listings[0]
    labels = tuple(label for listing in listings for label in listing.labels)
    check_distinct(labels, " and ".join(map(str, folders)))
    splits: dict[str, list[tuple[Path, int]]] = {}
    for name in SPLITS:
        lacking = [str(folder) for folder, listing in zip(folders, listings) if name not in listing.splits]
        if len(lacking) == len(folders):
            continue
        if lacking:
            warn(f"{name} is left out: {a_few(lacking)} has none")
            continue
        splits[name], first = [], 0
        for listing in listings:
            splits[name] += [(path, first + label) for path, label in listing.splits[name]]
            first += len(listing.labels)
    return Listing(labels, splits)


def _split(pictures: list[tuple[Path, int]]) -> Split:
    return Split(tuple(path for path, _ in pictures), np.array([label for _, label in pictures], np.int64))
