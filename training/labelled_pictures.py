"""The pictures of one split, ``CLASS/*.jpg``, with labels that are known beforehand: those of a trained model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.formats import missing_decoder
from glsl_infer.runtime.pictures.paths import SUFFIXES, is_hidden, is_image
from glsl_infer.tools.export import read_labels
from training.class_folders import SPLITS, a_few

LABELS = "labels.txt"


@dataclass(frozen=True)
class LabelledPictures:
    """The pictures of a split.

    Attributes:
        folder: the split's folder.
        labels: all labels of the model, in the order of its logits.
        paths: the pictures, label by label.
        truth: index of each picture's label, int64 (pictures,).
    """

    folder: Path
    labels: tuple[str, ...]
    paths: tuple[Path, ...]
    truth: NDArray[np.int64]

    def picked(self, indices: Sequence[int]) -> LabelledPictures:
        """Return some of the pictures, by their indices."""
        return replace(self, paths=tuple(self.paths[i] for i in indices), truth=self.truth[list(indices)])

    def spread(self, limit: int) -> LabelledPictures:
        """Return at most ``limit`` pictures, evenly spaced over all of them."""
        count = min(limit, len(self.paths))
        return self.picked([index * len(self.paths) // count for index in range(count)])


def class_folders(folder: Path) -> set[str]:
    """Return the names of a split's class folders.

    Raises:
        InputError: no such folder, or one that holds splits.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one split, a folder of CLASS/*.jpg")
    classes = {entry.name for entry in folder.iterdir() if entry.is_dir() and not is_hidden(entry.name)}
    if classes and classes <= set(SPLITS):
        raise InputError(
            f"{folder}: holds the splits {', '.join(sorted(classes))}; give one of them, as in {folder / min(classes)}"
        )
    return classes


def find(folder: Path, labels: tuple[str, ...]) -> LabelledPictures:
    """List the pictures of a split. It may lack classes, as a small val split does; it may not have unknown ones.

    Raises:
        InputError: as ``class_folders``; a class folder that is no label, or no pictures at all.
    """
    classes = class_folders(folder)
    unknown = sorted(classes - set(labels))
    if unknown:
        raise InputError(
            f"{folder}: the model has no label for the class folder{'s' * (len(unknown) > 1)} {a_few(unknown)}; "
            f"its {len(labels)} labels are {a_few(labels)}"
        )
    listed = [
        (path, index)
        for index, label in enumerate(labels)
        if label in classes
        for path in sorted((folder / label).iterdir())
        if is_image(path) and missing_decoder(path) is None
    ]
    if not listed:
        raise InputError(f"{folder}: no pictures; expected {folder}/CLASS/*.jpg (or {', '.join(sorted(SUFFIXES))})")
    truth = np.array([index for _, index in listed], np.int64)
    return LabelledPictures(folder, labels, tuple(path for path, _ in listed), truth)


def labels_of(model: Path, bundle: Path | None, folder: Path) -> tuple[str, ...]:
    """Return the labels of a model, in the order of its logits.

    They stand in labels.txt beside the model (a run folder has one) and in its bundle; where there is neither, in
    labels.txt beside the split's folder.

    Raises:
        InputError: there are none, one is there twice, two of these places disagree, or a file or the folder cannot be
            used.
    """
    class_folders(folder)
    known: dict[Path, tuple[str, ...]] = {}
    if model.with_name(LABELS).is_file():
        known[model.with_name(LABELS)] = read_labels(model.with_name(LABELS))
    if bundle is not None:
        known[bundle] = bundles.read(bundle).labels
        if not known[bundle]:
            raise InputError(f"{bundle}: makes images and has no labels; give a bundle that ends in classes")
    beside = folder.absolute().parent / LABELS
    if not known and beside.is_file():
        known[beside] = read_labels(beside)
    if not known:
        raise InputError(f"no labels: neither {model.with_name(LABELS)} nor {beside} exists; put one there, one a line")
    if len(set(known.values())) > 1:
        raise InputError(f"{' and '.join(map(str, known))} have different labels; which belong to {model}?")
    source, labels = next(iter(known.items()))
    twice = sorted(label for label, count in Counter(labels).items() if count > 1)
    if twice:
        raise InputError(f"{source}: {a_few(twice)} is there twice; every class needs a label of its own")
    return labels
