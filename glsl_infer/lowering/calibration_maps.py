"""Feature maps for calibration images, and arrays derived from them.

A file can keep the arrays, so that a later export needs no images.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape

Floats = NDArray[np.float32]
Indices = NDArray[np.int64]

Arrays = tuple[NDArray[Any], ...]
CalibrationData = Mapping[str, Arrays]
"""Arrays that calibration images led to, by the name of a layer and of the result, such as ``conv1 rounded``."""

TYPES = ("|i1", "<i2", "<u4", "<f4", "<f8")
"""Types of stored arrays."""

PICTURES = 8
"""Number of images on whose maps sums are simulated, in turn; fewer images are used repeatedly."""

AT_A_TIME = 1 << 15
"""Elements to convert to texels at a time, a number that fits a processor's cache."""


def convolved_map(node: Node, shapes: Mapping[str, Shape]) -> str:
    """Return the name of the map that a convolution multiplies with its weights: its input, or the gated input."""
    gates = [name for name in node.inputs[1:] if len(shapes[name]) == 1]
    return " * ".join((node.inputs[0], *gates))


class CalibrationMaps:
    """Feature maps for calibration images, and the results derived from them.

    Args:
        compute: returns the input maps of layers, (images, height, width, channels), by name, in real values. It is
            called at the first access.
        has_images: whether the images come from the user; otherwise they are synthetic.
        stored: results of an earlier export, whose images are not available.

    Attributes:
        calibration_data: results so far, by key.
    """

    def __init__(
        self,
        compute: Callable[[], Mapping[str, Array]],
        *,
        has_images: bool = False,
        stored: CalibrationData = MappingProxyType({}),
    ) -> None:
        self._compute, self.has_images = compute, has_images or bool(stored)
        self._stored = stored
        self.calibration_data: dict[str, Arrays] = {}

    @cached_property
    def _maps(self) -> Mapping[str, Array]:
        return self._compute()

    def cached(self, key: str, find: Callable[[], Arrays], fits: Callable[[Arrays], bool] = bool) -> Arrays:
        """Return the stored result for a key, or compute it.

        Args:
            key: name of the layer and of the result, including everything else that the result depends on.
            find: computes the result from the maps.
            fits: whether a stored result is valid for the layer.
        """
        stored = self._stored.get(key, ())
        if key not in self.calibration_data:
            self.calibration_data[key] = stored if stored and fits(stored) else find()
        return self.calibration_data[key]

    def forget(self, layers: Collection[str]) -> None:
        """Discard the results of some layers, whose weights will be stored differently."""
        names = tuple(f"{layer} " for layer in layers)
        for key in [key for key in self.calibration_data if key.startswith(names)]:
            del self.calibration_data[key]

    def texels(self, name: str, value: FeatureMap, padding: Sequence[int] = (0, 0, 0, 0), *, alpha: bool) -> Texels:
        """Return the texels of a layer's output, with its gutter.

        Args:
            name: name of the layer.
            value: its range.
            padding: sizes of the gutter (top, bottom, left, right).
            alpha: whether it is the input image without alpha: padding lanes are 1 inside, and all lanes are 0 in its
                gutter.
        """
        return Texels(self._maps[name], value, tuple(padding), alpha=alpha)


class Texels:
    """Texels of a feature map for some images, in [0, 1], which are computed for requested positions only."""

    def __init__(self, maps: Array, value: FeatureMap, padding: tuple[int, ...], *, alpha: bool) -> None:
        self._maps, self._value, self._padding, self._alpha = maps, value, padding, alpha
        top, bottom, left, right = padding
        self.size = (maps.shape[1] + top + bottom, maps.shape[2] + left + right)
        """Height and width, including the gutter."""

    def at(self, pictures: Indices, rows: Indices, columns: Indices) -> Floats:
        """Return the texels at positions of the ``PICTURES`` maps with gutters, (..., 4 * slices)."""
        count, height, width, channels = self._maps.shape
        shape = np.broadcast_shapes(pictures.shape, rows.shape, columns.shape)
        image_indices = np.broadcast_to(pictures * count // PICTURES, shape).reshape(-1)
        down, across = (
            np.broadcast_to(indices - padding_before, shape).reshape(-1)
            for indices, padding_before in ((rows, self._padding[0]), (columns, self._padding[2]))
        )
        outside = (down < 0) | (down >= height) | (across < 0) | (across >= width)
        down, across = np.clip(down, 0, height - 1), np.clip(across, 0, width - 1)
        steps = 256.0 if self._value.bits == 16 else 1.0
        factor, zero = 255.0 / self._value.scale_of, self._value.zero_of
        texels = np.full((len(image_indices), 4 * len(self._value.views)), float(self._alpha), np.float32)
        block = max(1, AT_A_TIME // channels)
        for first in range(0, len(image_indices), block):
            span = slice(first, first + block)
            stored = self._maps[image_indices[span], down[span], across[span]] * factor
            stored += zero
            stored *= steps
            stored += 0.5
            np.floor(stored, out=stored)
            stored /= steps
            np.clip(stored, 0.0, 255.0, out=stored)
            np.divide(stored, 255.0, out=texels[span, :channels], casting="same_kind")
        texels[outside] = 0.0
        if not self._alpha:
            texels[outside, :channels] = zero / 255.0
        return texels.reshape(*shape, -1)


def small(integers: NDArray[np.int64]) -> NDArray[Any]:
    """Return integers from -32768 to 32767 as int8 if they fit, else as int16."""
    return integers.astype(np.int8 if np.abs(integers).max(initial=0) < 128 else np.int16)


def mark(integers: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return a checksum (1,) of integers, stored with results that are valid only for these integers."""
    return np.array([zlib.crc32(np.ascontiguousarray(integers, "<i8").tobytes())], np.uint32)
