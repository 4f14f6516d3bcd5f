"""Scores of logits: top-1, top-5, coarse classes, confusion matrix, and agreement of two runs.

The first label has the highest logit; of equal logits it is the first in the order of labels, as in
``glsl_infer.Classifier``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Logits = NDArray[np.float32]
Truth = NDArray[np.int64]

TOP = 5


@dataclass(frozen=True)
class Score:
    """Number of correct predictions.

    Attributes:
        pictures: number of images.
        right: the first label is correct.
        in_five: the correct label is among the first five; None for five labels or fewer.
        coarse: the coarse class of the first label is correct; None without coarse classes.
        confusion: int64 (classes, classes); row: correct label, column: first label.
    """

    pictures: int
    right: int
    in_five: int | None
    coarse: int | None
    confusion: NDArray[np.int64]

    def as_json(self, labels: Sequence[str]) -> dict[str, Any]:
        """Return plain data: shares in [0, 1], counts by label, and the nonzero entries of the confusion matrix."""
        shares = {"top1": self.right, "top5": self.in_five, "coarse_top1": self.coarse}
        rows = {label: row for label, row in zip(labels, self.confusion) if row.any()}
        return {
            **{key: None if count is None else count / self.pictures for key, count in shares.items()},
            "right": self.right,
            "per_class": {
                label: {"pictures": int(row.sum()), "right": int(row[labels.index(label)])}
                for label, row in rows.items()
            },
            "confusion": {
                label: {labels[int(column)]: int(row[column]) for column in np.flatnonzero(row)}
                for label, row in rows.items()
            },
        }


@dataclass(frozen=True)
class Comparison:
    """Differences between the first labels of ``base`` and ``other``, as numbers of images.

    Attributes:
        pictures: number of images.
        same: both have the same first label.
        lost: only ``other`` is correct.
        gained: only ``base`` is correct.
        mean_error, largest_error: of centred logits.
    """

    pictures: int
    same: int
    lost: int
    gained: int
    mean_error: float
    largest_error: float

    @property
    def net_loss(self) -> int:
        """Number of correct images that ``base`` has fewer than ``other``; negative if it has more."""
        return self.lost - self.gained

    def as_json(self) -> dict[str, Any]:
        """Return plain data; ``agreement`` is a share, ``net_loss_points`` are percentage points."""
        return {
            "agreement": self.same / self.pictures,
            "same_first_label": self.same,
            "lost": self.lost,
            "gained": self.gained,
            "net_loss_pictures": self.net_loss,
            "net_loss_points": 100.0 * self.net_loss / self.pictures,
            "mean_logit_error": self.mean_error,
            "largest_logit_error": self.largest_error,
        }


def first_labels(logits: Logits) -> NDArray[np.int64]:
    """Return the index of each image's first label, (images,), for logits (images, classes)."""
    return np.asarray(logits.argmax(axis=1), np.int64)


def score(logits: Logits, truth: Truth, coarse: Sequence[str] | None = None) -> Score:
    """Score logits (images, classes) against the indices of the correct labels, (images,).

    Args:
        logits: a row for each image.
        truth: in [0, classes).
        coarse: coarse class of each label; the predicted coarse class is that of the first label.
    """
    pictures, classes = logits.shape
    first = first_labels(logits)
    order = np.argsort(-logits, axis=1, kind="stable")[:, :TOP]
    groups = None if coarse is None else np.array(coarse)
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (truth, first), 1)
    return Score(
        pictures,
        int((first == truth).sum()),
        int((order == truth[:, None]).any(axis=1).sum()) if classes > TOP else None,
        None if groups is None else int((groups[first] == groups[truth]).sum()),
        confusion,
    )


def compare(base: Logits, other: Logits, truth: Truth) -> Comparison:
    """Compare two sets of logits, (images, classes) each, of the same images."""
    firsts = [first_labels(logits) for logits in (base, other)]
    right = [first == truth for first in firsts]
    centred = [logits.astype(np.float64) - logits.mean(axis=1, keepdims=True) for logits in (base, other)]
    errors = np.abs(centred[0] - centred[1])
    return Comparison(
        len(truth),
        int((firsts[0] == firsts[1]).sum()),
        int((right[1] & ~right[0]).sum()),
        int((right[0] & ~right[1]).sum()),
        float(errors.mean()),
        float(errors.max()),
    )
