"""A data set on disk: its split folders, class folders and image files.

It has ``SPLIT/CLASS/*.jpg``, with train and val required and test optional, or ``CLASS/*.jpg``, which is split here.
Names that begin with a dot are ignored, and links are followed.

Every split must have images of every class, because scores would silently lack the others. If ``labels.txt`` lists the
classes, val and test can lack some, with a warning. Ambiguous names are refused: classes that differ only by case,
images in a folder inside a class folder, folders with the names of misspelt splits.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.decoding import missing_decoder
from glsl_infer.runtime.pictures.paths import SUFFIXES, is_hidden, is_image
from glsl_infer.support.plain_text import first_of
from glsl_infer.tools.export import read_labels
from training.command import warn

SPLITS = ("train", "val", "test")

_SPLIT_WORDS = {*SPLITS, "valid", "validation", "training", "testing", "eval", "evaluation"}


class Listing(NamedTuple):
    """Content of a data set: labels, and the images of each split with their label indices."""

    labels: tuple[str, ...]
    splits: dict[str, list[tuple[Path, int]]]


def list_folder(folder: Path, *, val_ratio: float, test_ratio: float) -> Listing:
    """List the images of a data set; labels have the order of ``labels.txt``, or alphabetical order.

    Files without an image suffix are reported in a warning. Without split folders, an image's split is derived from a
    hash of its name, with a warning if val or test has no image of a class.

    Raises:
        InputError: the folder does not exist, has no classes or images, or splits and ``labels.txt`` do not agree.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: {'is a file; give a folder' if folder.exists() else 'no such folder'}")
    split_names = _split_names(folder)
    other_files: list[Path] = []
    splits = {
        name: {entry.name: _pictures(entry, other_files) for entry in _folders(folder / name if name else folder)}
        for name in split_names or ("",)
    }
    classes = sorted({name for entries in splits.values() for name in entries})
    if not classes:
        raise InputError(f"{folder}: no class folders; expected {folder}/train/CLASS/*.jpg or {folder}/CLASS/*.jpg")
    check_distinct(classes, str(folder))
    labels = _labels(folder, classes)
    _check_complete(folder, labels, splits)
    if other_files:
        warn(f"{folder}: left out, no images by their names ({', '.join(sorted(SUFFIXES))}):", map(str, other_files))
    pictures = {
        name: [(path, index) for index, label in enumerate(labels) for path in entries.get(label, ())]
        for name, entries in splits.items()
    }
    return Listing(
        labels, pictures if split_names else _split_by_name(folder, labels, pictures[""], val_ratio, test_ratio)
    )


def draw(name: str, val_ratio: float, test_ratio: float) -> str:
    """Return the split of an image by a hash of its name, independent of other images."""
    fraction = int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()[:4], "big") / 2**32
    if fraction < test_ratio:
        return "test"
    return "val" if fraction < test_ratio + val_ratio else "train"


def check_distinct(labels: Iterable[str], source: str) -> None:
    """Refuse labels that differ only by case or by the encoding of accents, which some file systems treat as equal.

    Raises:
        InputError: two labels are equal in this sense.
    """
    first: dict[str, str] = {}
    for label in labels:
        key = unicodedata.normalize("NFC", label).casefold()
        if key in first:
            raise InputError(
                f"{source}: the classes {first[key]!a} and {label!a} are the same or differ by case or encoding alone; "
                "rename or merge them"
            )
        first[key] = label


def a_few(names: Sequence[str]) -> str:
    """Return the first eight names with commas, and the number of the others."""
    return first_of(names, 8)


def _split_names(folder: Path) -> tuple[str, ...]:
    """Return the names of split folders, or nothing if the folder has class folders."""
    folder_names = [entry.name for entry in _folders(folder)]
    names = tuple(name for name in SPLITS if name in folder_names)
    words = [name for name in folder_names if name.casefold() in _SPLIT_WORDS]
    incomplete = names and not {"train", "val"} <= set(names)
    misnamed = not names and folder_names and len(words) == len(folder_names)
    if incomplete or misnamed:
        raise InputError(
            f"{folder}: has {a_few(sorted(words))}, but training needs both train and val; call the folders so "
            "(test is optional), or give one that has the class folders themselves"
        )
    return names


def _folders(folder: Path) -> list[Path]:
    return [path for path in _entries(folder) if path.is_dir()]


def _entries(folder: Path) -> list[Path]:
    """Return the sorted content of a folder, without hidden entries."""
    try:
        return sorted(path for path in folder.iterdir() if not is_hidden(path.name))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({error.strerror})") from None


def _pictures(folder: Path, other_files: list[Path]) -> list[Path]:
    """Return the images of a class folder, and append other files to ``other_files``."""
    pictures = []
    for path in _entries(folder):
        if path.is_dir():
            _check_inner(path)
        elif is_image(path) and missing_decoder(path) is None:
            pictures.append(path)
        else:
            other_files.append(path)
    return pictures


def _check_inner(folder: Path) -> None:
    for _, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not is_hidden(name)]
        images = [name for name in files if is_image(Path(name))]
        if images:
            raise InputError(
                f"{folder}: images in a folder inside a class folder, {images[0]} for one; move them up, make it "
                "a class of its own, or begin its name with a dot"
            )


def _labels(folder: Path, classes: list[str]) -> tuple[str, ...]:
    for name in classes:
        if not name.isprintable() or name != name.strip():
            raise InputError(f"{folder}: the class folder {name!a} cannot be a label, a line of text; rename it")
    listed = folder / "labels.txt"
    if not listed.exists():
        return tuple(classes)
    labels = read_labels(listed)
    repeated = sorted(label for label, count in Counter(labels).items() if count > 1)
    unknown, missing = sorted(set(classes) - set(labels)), sorted(set(labels) - set(classes))
    problems = {"there twice": repeated, "not listed": unknown, "without a folder": missing}
    if any(problems.values()):
        description = "; ".join(f"{problem}: {a_few(names)}" for problem, names in problems.items() if names)
        raise InputError(f"{listed}: does not match the class folders ({description}); correct it, or remove it")
    return labels


def _check_complete(folder: Path, labels: tuple[str, ...], splits: dict[str, dict[str, list[Path]]]) -> None:
    """Refuse splits without images of some class; ``splits`` has the images of each split's class folders."""
    listed = (folder / "labels.txt").exists()
    problems = []
    for name, entries in splits.items():
        lacking = [label for label in labels if not entries.get(label)]
        if not lacking:
            continue
        if listed and name in ("val", "test") and len(lacking) < len(labels):
            warn(f"{folder}: {name} has no images of {len(lacking)} of {len(labels)} classes: {a_few(lacking)}")
        else:
            problems.append(f"{f'{name} has' if name else 'there are'} no images of {a_few(lacking)}")
    if problems:
        advice = "every class needs a folder with images" + (" in every split" if "train" in splits else "")
        raise InputError(f"{folder}: {'; '.join(problems)}; {advice}")


def _split_by_name(
    folder: Path, labels: tuple[str, ...], pictures: list[tuple[Path, int]], val_ratio: float, test_ratio: float
) -> dict[str, list[tuple[Path, int]]]:
    """Split images by their names."""
    splits: dict[str, list[tuple[Path, int]]] = {name: [] for name in SPLITS}
    for path, label in pictures:
        splits[draw(f"{labels[label]}/{path.name}", val_ratio, test_ratio)].append((path, label))
    for name, chosen in splits.items():
        labels_present = {label for _, label in chosen}
        lacking = [label for index, label in enumerate(labels) if index not in labels_present]
        if (lacking and name == "train") or (not chosen and name == "val"):
            raise InputError(
                f"{folder}: too few images of {a_few(lacking)}: none falls by its name into {name}; "
                f"add some, or make folders {folder}/train/CLASS and {folder}/val/CLASS"
            )
        if lacking and chosen:
            warn(f"{folder}: few images of some classes: none falls by its name into {name} of {a_few(lacking)}")
    return {name: chosen for name, chosen in splits.items() if chosen}
