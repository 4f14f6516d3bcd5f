"""Stored zeros and 255s of each layer that the model does not have: values that its ranges clip."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.program.layout import FeatureMap, FineMap, Range


def stored_ranges(bundle: Bundle) -> dict[str, Range]:
    """Return the ranges of the feature maps that a bundle stores, by layer."""
    return {
        layer.name: layer.output.range
        for part in bundle.gpu_parts
        for layer in part.network.layers
        if "scales" in layer.attrs and isinstance(layer.output, (FeatureMap, FineMap))
    }


class ClippedCount:
    """Values of a layer at the ends of its range where the model's are beyond them by half a step or more.

    Args:
        range_: of the layer; None of a layer without one, of which nothing is counted.

    Attributes:
        zeros: values that are stored as the lowest number.
        full: values that are stored as the highest number.
    """

    def __init__(self, range_: Range | None) -> None:
        self._range, self._count = range_, 0
        self.zeros = self.full = 0

    def add(self, given: NDArray[np.floating], expected: NDArray[np.floating]) -> None:
        """Add an output, (height, width, channels), and the model's."""
        if self._range is None or given.ndim != 3:
            return
        low, high = self._range.ends(given.shape[2])
        half = 0.5 * (high - low) / (255.0 if self._range.bits == 8 else 65280.0)
        self._count += given.size
        self.zeros += int(((given < low + half) & (expected < low - half)).sum())
        self.full += int(((given > high - half) & (expected > high + half)).sum())

    def as_json(self) -> dict[str, float]:
        """Return both counts and their share of all values, as plain data; nothing of a layer without a range."""
        if not self._count:
            return {}
        share = (self.zeros + self.full) / self._count
        return {"clipped_zeros": self.zeros, "clipped_full": self.full, "clipped_share": share}
