"""Photographs to train on: CLASS/*.jpg in a folder, and their random variations."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance

from glsl_infer.errors import ImageError, InputError, together
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.runtime.pictures import paths, preprocess
from glsl_infer.support.plain_text import first_of
from glsl_infer.support.progress import ProgressCallback, no_progress

LEAST_PHOTOGRAPHS = 5
"""Smallest number of photographs of a class: one for each fold of the cross-validation."""

NEGATIVE = "none"
"""Name of the folder that is not a class: its photographs are to be answered with ``NONE``."""

MOST_CLASSES = 200

_CLASS_ROWS, _SHEET_ROWS = 6, 60
"""Largest numbers of rows on a contact sheet, of a class and of all classes."""


@dataclass(frozen=True)
class Photographs:
    """Photographs of a folder.

    Attributes:
        classes: labels, in alphabetical order.
        files: the images.
        truth: index of each image's class, or -1 for the folder ``none``.
        warnings: sentences for the user.
    """

    classes: tuple[str, ...]
    files: tuple[Path, ...]
    truth: tuple[int, ...]
    warnings: tuple[str, ...] = ()


def _class_folders(folder: Path) -> list[Path]:
    """Return the folders of the classes and of ``NEGATIVE``, sorted.

    Raises:
        InputError: the folder does not exist, or has no folders.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give a folder with a folder of photographs for each class")
    folders = sorted(path for path in folder.iterdir() if path.is_dir() and not paths.is_hidden(path.name))
    if not folders:
        raise InputError(
            f"{folder}: has no folders; put the photographs of each class into a folder with the name of the class"
        )
    return folders


def _loose(folder: Path) -> list[str]:
    """Return a warning about images next to the folders of the classes, if there are any."""
    count = sum(paths.is_image(path) and path.is_file() for path in folder.iterdir())
    if not count:
        return []
    counted, subject = ("1 image is", "it is") if count == 1 else (f"{count} images are", "they are")
    return [f"{folder}: {counted} left out, because {subject} not in the folder of a class"]


def _class_problem(path: Path, label: str, readable: int, left_out: Sequence[str]) -> str:
    """Return the reason and remedy if the folder ``path`` cannot be a class, else ""."""
    if label.casefold() == NONE:
        return f"{path}: rename this folder to '{NEGATIVE}'; the model answers '{NONE}' to its photographs"
    if not label.isprintable():
        return f"{path}: the name has characters that cannot be shown; rename it"
    if label != NEGATIVE and readable < LEAST_PHOTOGRAPHS:
        problem = f"{path}: {readable} readable images; a class needs {LEAST_PHOTOGRAPHS}, better 30"
        return "; ".join([problem, *left_out[:1]])
    return ""


def find(folder: Path, progress: ProgressCallback = no_progress) -> Photographs:
    """Return the photographs in CLASS/*.jpg; those that cannot be read are left out with a warning.

    Args:
        folder: folder with a folder for each class.
        progress: called with a text for each photograph.

    Raises:
        InputError: the message lists all problems of the folder.
    """
    folders = _class_folders(folder)
    left_out: dict[Path, list[str]] = {path: [] for path in folders}
    images = {path: paths.in_folder(path, warn=left_out[path].append) for path in folders}
    warnings = [*_loose(folder), *_nested(images)]
    classes: list[str] = []
    files: list[Path] = []
    truth: list[int] = []
    problems: list[InputError] = []
    total = sum(map(len, images.values()))
    numbers = itertools.count(1)
    for path, images_of_class in images.items():
        label = unicodedata.normalize("NFC", path.name)
        readable = []
        for file in images_of_class:
            progress(f"photograph {next(numbers)} of {total}")
            try:
                preprocess.open_image(file)
                readable.append(file)
            except ImageError as error:
                left_out[path].append(f"{error}; left out")
        warnings += left_out[path]
        if problem := _class_problem(path, label, len(readable), left_out[path]):
            problems.append(InputError(problem))
            continue
        files += readable
        truth += [-1 if label == NEGATIVE else len(classes)] * len(readable)
        classes += [] if label == NEGATIVE else [label]
    if problems:
        raise together(problems)
    if not classes:
        raise InputError(f"{folder}: '{NEGATIVE}' is not a class; add a folder with photographs of another class")
    if len(classes) > MOST_CLASSES:
        raise InputError(f"{folder}: {len(classes)} classes; at most {MOST_CLASSES} are possible")
    counts = [truth.count(index) for index in range(len(classes))]
    warnings += [
        f"'{label}' has {count} photographs; 30 make a better model"
        for label, count in zip(classes, counts)
        if count < 15
    ]
    return Photographs(tuple(classes), tuple(files), tuple(truth), tuple(warnings))


def _nested(images: Mapping[Path, Sequence[Path]]) -> list[str]:
    """Return a sentence if all photographs are in folders of the class folders, which can be the classes themselves."""
    inner = {
        path: sorted({file.relative_to(path).parts[0] for file in files if file.parent != path})
        for path, files in images.items()
    }
    if any(file.parent == path for path, files in images.items() for file in files):
        return []
    for path, names in inner.items():
        if len(names) > 1:
            return [
                f"{path}: the folders {first_of(names, 3)} together are the class '{path.name}'; if each is a class, "
                f"give {path}"
            ]
    return []


def variations(image: Image.Image, count: int, seed: int) -> Iterator[Image.Image]:
    """Yield the image unchanged, then ``count - 1`` random variations.

    Each variation is a square of 75 to 100 % of the shorter side at a random position, mirrored every second time,
    rotated by up to 10 degrees, and brighter or darker by up to a fifth.
    """
    yield image
    random = np.random.default_rng(seed)
    width, height = image.size
    for copy in range(1, count):
        side = min(width, height) * random.uniform(0.75, 1.0)
        left, top = random.uniform(0, width - side), random.uniform(0, height - side)
        view = image.rotate(random.uniform(-10.0, 10.0), Image.Resampling.BILINEAR)
        view = view.crop((round(left), round(top), round(left + side), round(top + side)))
        if copy % 2:
            view = view.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        yield ImageEnhance.Brightness(view).enhance(random.uniform(0.8, 1.2))


def contact_sheet(photographs: Photographs, side: int = 96, columns: int = 10) -> Image.Image:
    """Return an image with the photographs of each class, and last of the folder ``none``, in rows.

    A white line separates the classes. Of a class with more than ``_CLASS_ROWS`` rows, or if there are many classes,
    evenly spaced photographs are shown.
    """
    indices = [index for index in (*range(len(photographs.classes)), -1) if index in photographs.truth]
    rows = min(_CLASS_ROWS, max(1, _SHEET_ROWS // len(indices)))
    files_by_class = [
        paths.spread(
            [file for file, truth in zip(photographs.files, photographs.truth) if truth == index], rows * columns
        )
        for index in indices
    ]
    heights = [side * -(-len(files) // columns) for files in files_by_class]
    gap = side // 8
    sheet = Image.new("RGB", (columns * side, sum(heights) + gap * (len(files_by_class) - 1)), "white")
    top = 0
    for files, height in zip(files_by_class, heights):
        for index, file in enumerate(files):
            row, column = divmod(index, columns)
            sheet.paste(_thumbnail(file, side), (column * side, top + row * side))
        top += height + gap
    return sheet


def _thumbnail(file: Path, side: int) -> Image.Image:
    image = preprocess.open_image(file)
    width, height = image.size
    short = min(width, height)
    box = ((width - short) / 2, (height - short) / 2, (width + short) / 2, (height + short) / 2)
    return image.resize((side, side), Image.Resampling.BOX, box=box)
