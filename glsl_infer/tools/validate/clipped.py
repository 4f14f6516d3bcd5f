"""Values of each layer clipped by its range: stored as the minimum or maximum, but beyond it in the original model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.program.layout import FeatureMap, Range, SixteenBitMap


def stored_ranges(bundle: Bundle) -> dict[str, Range]:
    """Return the ranges of the feature maps stored by a bundle, by layer."""
    return {
        layer.name: layer.output.range
        for part in bundle.gpu_parts
        for layer in part.network.layers
        if "scales" in layer.attrs and isinstance(layer.output, (FeatureMap, SixteenBitMap))
    }


class ClippedCount:
    """Values of a layer at the bounds of its range where the model's are beyond them by half a step or more.

    Args:
        range_: range of the layer; None if it has none: nothing is then counted.

    Attributes:
        zeros: number of values clipped to the minimum.
        full: number of values clipped to the maximum.
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
        """Return both counts and their share of all values, as plain data; empty for a layer without a range."""
        if not self._count:
            return {}
        share = (self.zeros + self.full) / self._count
        return {"clipped_zeros": self.zeros, "clipped_full": self.full, "clipped_share": share}
