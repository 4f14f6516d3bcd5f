"""Feature maps as they are for typical pictures, and what was found with them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.findings import Arrays, Findings
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Array

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

PICTURES = 8
"""Pictures whose maps sums are followed on, turn by turn; of fewer some are looked at more often."""


class Typical:
    """Feature maps as they are for typical pictures, and what was found with them.

    Args:
        compute: returns the maps that layers read (pictures, height, width, channels), by name, in real values; called
            when the first layer asks.
        given: whether a person gave the pictures; else they only look like some.
        stored: what was found before, with pictures that are not here.
    """

    def __init__(
        self,
        compute: Callable[[], Mapping[str, Array]],
        *,
        given: bool = False,
        stored: Findings = MappingProxyType({}),
    ) -> None:
        self._compute, self.given = compute, given or bool(stored)
        self._stored = stored
        self.findings: dict[str, Arrays] = {}

    @cached_property
    def _maps(self) -> Mapping[str, Array]:
        return self._compute()

    def known(self, key: str, find: Callable[[], Arrays], fits: Callable[[Arrays], bool] = bool) -> Arrays:
        """Return what was found before, or else what ``find`` returns: programs are built twice to share textures.

        Args:
            key: the layer, and all that the answer depends on: its weights may lie elsewhere when it is built again.
            find: looks at the maps.
            fits: whether arrays are of this layer as it is now.
        """
        before = self._stored.get(key, ())
        if key not in self.findings:
            self.findings[key] = before if before and fits(before) else find()
        return self.findings[key]

    def forget(self, layers: Collection[str]) -> None:
        """Forget what was found for some layers, whose weights are to be elsewhere."""
        names = tuple(f"{layer} " for layer in layers)
        for key in [key for key in self.findings if key in layers or key.startswith(names)]:
            del self.findings[key]

    def texels(self, name: str, value: FeatureMap, padding: Sequence[int] = (0, 0, 0, 0), *, alpha: bool) -> Texels:
        """Return the texels of a layer's output, with its gutter.

        Args:
            name: of the layer.
            value: its range.
            padding: of the gutter (top, bottom, left, right).
            alpha: whether it is the picture: lanes beyond its channels are 1 inside, and all are 0 in its gutter.
        """
        return Texels(self._maps[name], value, tuple(padding), alpha=alpha)


class Texels:
    """Texels of a feature map of some pictures, in [0, 1]; see ``Typical.texels``. They are made where one looks."""

    def __init__(self, maps: Array, value: FeatureMap, padding: tuple[int, ...], *, alpha: bool) -> None:
        self._maps, self._value, self._padding, self._alpha = maps, value, padding, alpha
        top, bottom, left, right = padding
        self.size = (maps.shape[1] + top + bottom, maps.shape[2] + left + right)
        """Height and width with the gutter."""

    def at(self, pictures: Places, rows: Places, columns: Places) -> Floats:
        """Return the texels at some places of the ``PICTURES`` maps with their gutters, (..., 4 * slices)."""
        count, height, width, channels = self._maps.shape
        rows, columns = rows - self._padding[0], columns - self._padding[2]
        outside = (rows < 0) | (rows >= height) | (columns < 0) | (columns >= width)
        values = self._maps[pictures * count // PICTURES, np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]
        steps = 256.0 if self._value.bits == 16 else 1.0
        stored = np.floor(steps * (values * (255.0 / self._value.scale_of) + self._value.zero_of) + 0.5) / steps
        made = np.full((*values.shape[:-1], 4 * len(self._value.views)), float(self._alpha), np.float32)
        made[..., :channels] = np.clip(stored, 0.0, 255.0) / 255.0
        made[outside] = 0.0
        if not self._alpha:
            made[outside, :channels] = self._value.zero_of / 255.0
        return made
