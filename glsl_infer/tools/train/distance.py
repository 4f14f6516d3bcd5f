"""How far a picture lies from the photographs of a class: Mahalanobis' distance, with one covariance for all classes.

Lee et al., "A Simple Unified Framework for Detecting Out-of-Distribution Samples", 2018. It tells a thing that
resembles a class, and of which no example is known, from the class; examples of ``none of these`` tell the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

SHRINK = 0.3
"""Part of the covariance that is the same in all directions: photographs are fewer than features."""

STEEP = 100.0
"""What a class loses, in logits, per part that its squared distance is beyond the most."""


@dataclass(frozen=True)
class Distance:
    """Of features x and a class c: the squared length of (x - mean) @ whitening - centre[c], and what it costs.

    Attributes:
        mean: (length,), of all classes.
        whitening: (length, length).
        centres: (classes, length), of each class, after whitening.
        scale, offset: a class loses max(0, scale * square - offset).
    """

    mean: Numbers
    whitening: Numbers
    centres: Numbers
    scale: float = 1.0
    offset: float = 0.0

    def squares(self, features: Numbers) -> Numbers:
        """Return the squared distances (..., classes)."""
        white = (features - self.mean) @ self.whitening
        found: Numbers = np.square(white[..., None, :] - self.centres).sum(axis=-1)
        return found

    def penalties(self, features: Numbers) -> Numbers:
        """Return what classes lose (..., classes)."""
        return np.maximum(self.scale * self.squares(features) - self.offset, 0.0)

    def beyond(self, most: float, times: float) -> Distance:
        """Return the same, where a class loses beyond a squared distance of ``most``."""
        return replace(self, scale=STEEP * times / most, offset=STEEP * times)

    def divided(self, by: float) -> Distance:
        """Return the same with losses divided by a number."""
        return replace(self, scale=self.scale / by, offset=self.offset / by)


def fit(features: Numbers, truth: NDArray[np.int64], classes: int) -> Distance:
    """Return the distance of photographs (count, variations, length) whose classes are ``truth``; -1 is none."""
    length = features.shape[-1]
    each = [features[truth == index].reshape(-1, length) for index in range(classes)]
    centres = np.array([rows.mean(axis=0) for rows in each])
    rest = np.concatenate([rows - centre for rows, centre in zip(each, centres)])
    covariance = rest.T @ rest / len(rest)
    width = max(float(np.trace(covariance)) / length, 1e-9)
    values, vectors = np.linalg.eigh((1.0 - SHRINK) * covariance + SHRINK * width * np.eye(length))
    whitening = vectors / np.sqrt(values)
    mean = centres.mean(axis=0)
    return Distance(mean, whitening, (centres - mean) @ whitening)
