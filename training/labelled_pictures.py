"""Images of one split, ``CLASS/*.jpg``, labelled with the labels of a trained model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.decoding import missing_decoder
from glsl_infer.runtime.pictures.paths import SUFFIXES, is_hidden, is_image
from glsl_infer.tools.export import read_labels
from training.class_folders import SPLITS, a_few

LABELS = "labels.txt"


@dataclass(frozen=True)
class LabelledPictures:
    """Images of a split.

    Attributes:
        folder: folder of the split.
        labels: all labels of the model, in the order of its logits.
        paths: the images, ordered by label.
        truth: label index of each image, int64 (images,).
    """

    folder: Path
    labels: tuple[str, ...]
    paths: tuple[Path, ...]
    truth: NDArray[np.int64]

    def picked(self, indices: Sequence[int]) -> LabelledPictures:
        """Return some of the images, by their indices."""
        return replace(self, paths=tuple(self.paths[i] for i in indices), truth=self.truth[list(indices)])

    def spread(self, limit: int) -> LabelledPictures:
        """Return at most ``limit`` images, evenly spaced."""
        count = min(limit, len(self.paths))
        return self.picked([index * len(self.paths) // count for index in range(count)])


def class_folders(folder: Path) -> set[str]:
    """Return the names of a split's class folders.

    Raises:
        InputError: the folder does not exist, or contains splits.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give one split, a folder of CLASS/*.jpg")
    classes = {path.name for path in folder.iterdir() if path.is_dir() and not is_hidden(path.name)}
    if classes and classes <= set(SPLITS):
        raise InputError(
            f"{folder}: holds the splits {', '.join(sorted(classes))}; give one of them, as in {folder / min(classes)}"
        )
    return classes


def find(folder: Path, labels: tuple[str, ...]) -> LabelledPictures:
    """List the images of a split. Classes can be missing, as in a small val split, but unknown ones are refused.

    Raises:
        InputError: as for ``class_folders``; also if a class folder is not a label, or all are empty.
    """
    classes = class_folders(folder)
    unknown = sorted(classes - set(labels))
    if unknown:
        raise InputError(
            f"{folder}: the model has no label for the class folder{'s' * (len(unknown) > 1)} {a_few(unknown)}; "
            f"its {len(labels)} labels are {a_few(labels)}"
        )
    entries = [
        (path, index)
        for index, label in enumerate(labels)
        if label in classes
        for path in sorted((folder / label).iterdir())
        if is_image(path) and missing_decoder(path) is None
    ]
    if not entries:
        raise InputError(f"{folder}: no images; expected {folder}/CLASS/*.jpg (or {', '.join(sorted(SUFFIXES))})")
    truth = np.array([index for _, index in entries], np.int64)
    return LabelledPictures(folder, labels, tuple(path for path, _ in entries), truth)


def labels_of(model: Path, bundle: Path | None, folder: Path) -> tuple[str, ...]:
    """Return the labels of a model, in the order of its logits.

    They are in labels.txt next to the model (as in a run folder) and in its bundle. If both are missing, they are in
    labels.txt next to the split's folder.

    Raises:
        InputError: labels are missing or repeated, two of these sources disagree, or a file or the folder cannot be
            used.
    """
    class_folders(folder)
    labels_by_source: dict[Path, tuple[str, ...]] = {}
    if model.with_name(LABELS).is_file():
        labels_by_source[model.with_name(LABELS)] = read_labels(model.with_name(LABELS))
    if bundle is not None:
        labels_by_source[bundle] = bundles.read(bundle).labels
        if not labels_by_source[bundle]:
            raise InputError(f"{bundle}: makes images and has no labels; give a bundle that ends in classes")
    next_to_split = folder.absolute().parent / LABELS
    if not labels_by_source and next_to_split.is_file():
        labels_by_source[next_to_split] = read_labels(next_to_split)
    if not labels_by_source:
        raise InputError(
            f"no labels: neither {model.with_name(LABELS)} nor {next_to_split} exists; put one there, one a line"
        )
    if len(set(labels_by_source.values())) > 1:
        raise InputError(f"{' and '.join(map(str, labels_by_source))} have different labels; which belong to {model}?")
    source, labels = next(iter(labels_by_source.items()))
    repeated = sorted(label for label, count in Counter(labels).items() if count > 1)
    if repeated:
        raise InputError(f"{source}: {a_few(repeated)} is there twice; every class needs a label of its own")
    return labels
