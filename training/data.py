"""Data sets of pictures in class folders, one or several joined, and their pixels.

    dataset = data.find(folder)                    # or several: data.find([one, other])
    pixels, labels, paths = data.read(dataset.splits["val"], 257)

``training.class_folders`` says what a folder has to look like. What is amiss and no error is a warning on standard
error: pictures that cannot be read, files that are no pictures, and pictures that are in two splits.
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
    """The pictures of one split.

    Attributes:
        paths: their files.
        labels: the index of each one's label, int64 ``(pictures,)``.
    """

    paths: tuple[Path, ...]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """A data set.

    Attributes:
        labels: the names of its classes; a label's index is its place here.
        splits: train, val and, where there is one, test.
        coarse: the coarse label of each label, where a manifest says so.
    """

    labels: tuple[str, ...]
    splits: dict[str, Split]
    coarse: dict[str, str] | None = None


class Pictures(NamedTuple):
    """The pictures of a split that could be read.

    Attributes:
        pixels: uint8 ``(pictures, size, size, 3)``.
        labels: int64 ``(pictures,)``.
        paths: their files.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    paths: tuple[Path, ...]


def find(folders: Folders, *, val_ratio: float = 0.15, test_ratio: float = 0.1) -> Dataset:
    """List the pictures of a data set, or of several as one.

    With sub-folders train, val (and test) each holds a folder per class. Otherwise the folder itself does, and every
    picture's split follows from a hash of its name: adding pictures moves no other. The order of labels is
    ``labels.txt`` where there is one, else alphabetical. Joined, labels follow each other in the order of the folders,
    the splits are those that all of them have, and a label without a coarse one is its own.

    Raises:
        InputError: a folder is no data set, classes do not agree between splits or with the labels, or two data sets
            have the same label.
    """
    several = [Path(folders)] if isinstance(folders, (str, Path)) else [Path(folder) for folder in folders]
    if not several:
        raise InputError("no data set given; give one or more folders")
    listings = [list_folder(folder, val_ratio=val_ratio, test_ratio=test_ratio) for folder in several]
    joined = _joined(several, listings)
    twice = duplicates.find(joined.splits)
    if twice:
        warn(
            f"{len(twice)} pictures are there more than once, in two splits or under two labels; remove all but one:",
            (" = ".join(map(str, group)) for group in twice),
        )
    maps = [coarse_labels(folder, listing.labels) for folder, listing in zip(several, listings)]
    coarse = {
        label: label if coarse_of is None else coarse_of[label]
        for coarse_of, listing in zip(maps, listings)
        for label in listing.labels
    }
    return Dataset(
        joined.labels,
        {name: _split(pictures) for name, pictures in joined.splits.items()},
        None if all(coarse_of is None for coarse_of in maps) else coarse,
    )


def read(split: Split, size: int, *, strict: bool = False) -> Pictures:
    """Read the pictures of a split by the engine's own preprocessing, into one array that is never there twice.

    Those that cannot be read are left out, and named in one warning. A progress bar shows on a terminal.

    Args:
        split: what to read.
        size: side in pixels.
        strict: a picture that cannot be read is an error.

    Raises:
        InputError: there is not enough memory, no picture of a class can be read, or with ``strict`` any cannot.
    """
    count = len(split.paths)
    try:
        pixels = np.empty((count, size, size, 3), np.uint8)
    except MemoryError:
        needed = count * size * size * 3 / 2**30
        raise InputError(f"{count} pictures of {size} x {size} pixels need {needed:.1f} GiB of memory") from None

    def fill(index: int) -> None:
        pixels[index] = load(split.paths[index], size)

    bad = reading.each(split.paths, fill, strict=strict)
    good = [index for index in range(len(split.paths)) if index not in bad]
    for place, index in enumerate(good):  # a copy of the good ones would take the memory twice
        if place != index:
            pixels[place] = pixels[index]
    labels, paths = split.labels[good], tuple(split.paths[index] for index in good)
    lost = set(split.labels.tolist()) - set(labels.tolist())
    if lost:
        folders = sorted({str(path.parent) for path, label in zip(split.paths, split.labels) if int(label) in lost})
        raise InputError(f"no picture of a class can be read: {a_few(folders)}")
    return Pictures(pixels[: len(good)], labels, paths)


def _joined(folders: list[Path], listings: list[Listing]) -> Listing:
    """Return several listings as one, each one's labels after those before."""
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
