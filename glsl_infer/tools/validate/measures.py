"""Differences between outputs and their expected values, over many samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Agreement:
    """Sums over samples, so outputs need not be stored.

    Attributes:
        pictures: number of samples added.
        max_error, worst_cosine: of the sample with the worst value.
        agreed: number of samples whose largest value has the expected index.
        margin: largest difference, in samples with another index, between the expected values at both indices.
    """

    def __init__(self) -> None:
        self.pictures = self.agreed = self._count = self._equal = 0
        self.max_error, self.worst_cosine, self.margin = 0.0, 1.0, 0.0
        self._absolute = self._products = self._expected = self._actual = self._squares = self._sum = 0.0

    def add(self, actual: NDArray[np.floating], expected: NDArray[np.floating]) -> None:
        """Add the outputs of one sample, two arrays of the same shape.

        Raises:
            ValueError: the shapes differ.
        """
        if actual.shape != expected.shape:
            raise ValueError(f"shapes {actual.shape} and {expected.shape} differ")
        ours, theirs = np.asarray(actual, np.float64).ravel(), np.asarray(expected, np.float64).ravel()
        error = ours - theirs
        products, squares = float(ours @ theirs), (float(ours @ ours), float(theirs @ theirs))
        self.pictures += 1
        self.agreed += int(ours.argmax() == theirs.argmax())
        self.margin = max(self.margin, float(theirs.max() - theirs[ours.argmax()]))
        self._sum += float(theirs.sum())
        self.max_error = max(self.max_error, float(np.abs(error).max()))
        self.worst_cosine = min(self.worst_cosine, _cosine(products, *squares))
        self._count += ours.size
        self._equal += int((ours == theirs).sum())
        self._absolute += float(np.abs(error).sum())
        self._products += products
        self._actual += squares[0]
        self._expected += squares[1]
        self._squares += float(error @ error)

    @property
    def cosine(self) -> float:
        """Cosine similarity of all outputs as one vector, in [-1, 1]; 1 if both are 0 everywhere."""
        return _cosine(self._products, self._actual, self._expected)

    @property
    def mean_error(self) -> float:
        """Mean of the absolute errors, in units of the output."""
        return self._absolute / max(1, self._count)

    @property
    def sqnr(self) -> float:
        """Signal to quantisation noise in dB: power of expected values over the error's; infinite without error."""
        if not self._squares:
            return math.inf
        return 10.0 * math.log10(self._expected / self._squares) if self._expected else -math.inf

    @property
    def margin_share(self) -> float:
        """``margin`` as a share of the standard deviation of the expected values."""
        count = max(1, self._count)
        spread = math.sqrt(max(0.0, self._expected / count - (self._sum / count) ** 2))
        return self.margin / spread if spread else 0.0

    @property
    def top1(self) -> float:
        """Share of samples whose largest value has the expected index, in [0, 1]."""
        return self.agreed / max(1, self.pictures)

    @property
    def same(self) -> float:
        """Share of equal values, in [0, 1]; for a mask, of pixels with the same class."""
        return self._equal / max(1, self._count)

    def as_json(self) -> dict[str, Any]:
        """Return all metrics as plain data; ``sqnr_db`` is None if infinite, which JSON cannot represent."""
        return {
            "pictures": self.pictures,
            "cosine": self.cosine,
            "worst_cosine": self.worst_cosine,
            "max_error": self.max_error,
            "mean_error": self.mean_error,
            "sqnr_db": self.sqnr if math.isfinite(self.sqnr) else None,
        }


def _cosine(products: float, left: float, right: float) -> float:
    if not left and not right:
        return 1.0
    return products / math.sqrt(left * right) if left and right else 0.0
