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


AT_A_TIME = 1 << 15
"""Numbers that become texels at a time: they stay in a processor's cache."""


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

    def let_go(self) -> None:
        """Let the maps go, hundreds of megabytes: who still asks has them computed again."""
        self.__dict__.pop("_maps", None)

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
        shape = np.broadcast_shapes(pictures.shape, rows.shape, columns.shape)
        numbers = np.broadcast_to(pictures * count // PICTURES, shape).reshape(-1)
        down, across = (
            np.broadcast_to(places - before, shape).reshape(-1)
            for places, before in ((rows, self._padding[0]), (columns, self._padding[2]))
        )
        outside = (down < 0) | (down >= height) | (across < 0) | (across >= width)
        down, across = np.clip(down, 0, height - 1), np.clip(across, 0, width - 1)
        steps = 256.0 if self._value.bits == 16 else 1.0
        factor, zero = 255.0 / self._value.scale_of, self._value.zero_of
        made = np.full((len(numbers), 4 * len(self._value.views)), float(self._alpha), np.float32)
        each = max(1, AT_A_TIME // channels)
        for first in range(0, len(numbers), each):
            part = slice(first, first + each)
            stored = self._maps[numbers[part], down[part], across[part]] * factor
            stored += zero
            stored *= steps
            stored += 0.5
            np.floor(stored, out=stored)
            stored /= steps
            np.clip(stored, 0.0, 255.0, out=stored)
            np.divide(stored, 255.0, out=made[part, :channels], casting="same_kind")
        made[outside] = 0.0
        if not self._alpha:
            made[outside, :channels] = zero / 255.0
        return made.reshape(*shape, -1)
