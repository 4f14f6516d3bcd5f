"""Image folders: ``SPLIT/CLASS/*.jpg``, or one folder of classes that is split here by a ratio."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.preprocess import load

SPLITS = ("train", "val", "test")
SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp"}


@dataclass(frozen=True)
class Split:
    """The pictures of one split: paths and the index of each one's label."""

    paths: tuple[Path, ...]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Dataset:
    """A data set: its labels and up to three splits, by name."""

    labels: tuple[str, ...]
    splits: dict[str, Split]


def find(folder: Path, *, val_ratio: float = 0.15, test_ratio: float = 0.1) -> Dataset:
    """List the pictures under ``folder``.

    With sub-folders train, val (and test) each holds a folder per class. Otherwise ``folder`` itself
    does, and every picture's split follows from a hash of its name: adding pictures moves no other.
    The order of labels is ``labels.txt`` where there is one, else alphabetical.

    Raises:
        InputError: no pictures, no val split, or class folders that do not agree with the labels.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    split_folders = [name for name in SPLITS if (folder / name).is_dir()]
    roots = [folder / name for name in split_folders] or [folder]
    classes = sorted({entry.name for root in roots for entry in root.iterdir() if entry.is_dir()})
    labels = _labels(folder, classes)
    if split_folders:
        if "train" not in split_folders or "val" not in split_folders:
            raise InputError(f"{folder}: has {', '.join(split_folders)} but training needs both train and val")
        splits = {name: _split(_pictures(folder / name, labels)) for name in split_folders}
    else:
        drawn: dict[str, list[tuple[Path, int]]] = {name: [] for name in SPLITS}
        for path, label in _pictures(folder, labels):
            drawn[draw(f"{labels[label]}/{path.name}", val_ratio, test_ratio)].append((path, label))
        splits = {name: _split(pictures) for name, pictures in drawn.items()}
    for name in ("train", "val"):
        if not splits[name].paths:
            raise InputError(f"{folder}: no pictures in the {name} split")
    return Dataset(labels, splits)


def pixels(split: Split, size: int) -> NDArray[np.uint8]:
    """Read all pictures of a split as uint8 ``(n, size, size, 3)``, by the engine's own preprocessing."""
    images = np.empty((len(split.paths), size, size, 3), np.uint8)

    def read(index: int) -> None:
        images[index] = load(split.paths[index], size)

    with ThreadPoolExecutor() as pool:
        list(pool.map(read, range(len(split.paths))))
    return images


def _labels(folder: Path, classes: list[str]) -> tuple[str, ...]:
    if not classes:
        raise InputError(f"{folder}: no class folders; expected {folder}/train/CLASS/*.jpg or {folder}/CLASS/*.jpg")
    listed = folder / "labels.txt"
    if not listed.is_file():
        return tuple(classes)
    labels = listed.read_text("utf-8").splitlines()
    unknown, missing = sorted(set(classes) - set(labels)), sorted(set(labels) - set(classes))
    if unknown or missing:
        raise InputError(f"{listed}: does not match the class folders (unlisted: {unknown}, without folder: {missing})")
    return tuple(labels)


def _pictures(root: Path, labels: tuple[str, ...]) -> list[tuple[Path, int]]:
    found = []
    for index, label in enumerate(labels):
        entries = sorted((root / label).iterdir()) if (root / label).is_dir() else []
        found += [(entry, index) for entry in entries if entry.suffix.lower() in SUFFIXES]
    return found


def _split(pictures: list[tuple[Path, int]]) -> Split:
    return Split(tuple(path for path, _ in pictures), np.array([label for _, label in pictures], np.int64))


def draw(name: str, val_ratio: float, test_ratio: float) -> str:
    """Return the split that a picture's name falls into; it depends on no other picture."""
    fraction = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    if fraction < test_ratio:
        return "test"
    return "val" if fraction < test_ratio + val_ratio else "train"
