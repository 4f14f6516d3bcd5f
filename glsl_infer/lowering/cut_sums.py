"""Where a sum starts on a GPU that cuts every addition toward zero, so that it ends where it should in the mean.

VideoCore IV does not round sums to nearest. Each addition there moves a sum toward zero by half of its last bit in the
mean. In a shader of a convolution that adds up, most of all in the fourth channel, which starts lower by ``LATE``
(shaders/convolution.frag) and is negative until the end. How much it is depends on the size of the sum on its way, so
it is found with typical feature maps: those of the probe's picture. The sum then starts so much farther from zero.

Shaders for other devices start with the bias alone, and none of their bytes changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.conv_columns import Columns, DepthwiseColumns
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.graph import Array

Floats = NDArray[np.float32]

POSITIONS = 256
"""Output pixels at which sums are followed."""

MOST_ADDITIONS = 1 << 23
"""Additions of a layer that are followed; one with many weights has fewer pixels, down to ``FEWEST``."""

FEWEST = 8


class Typical:
    """Feature maps as they are for a typical picture, and what was found with them.

    Args:
        compute: returns the maps (height, width, channels) of all layers, by name, in real values; called when the
            first layer asks.
    """

    def __init__(self, compute: Callable[[], Mapping[str, Array]]) -> None:
        self._compute = compute
        self._known: dict[str, Floats] = {}

    @cached_property
    def _maps(self) -> Mapping[str, Array]:
        return self._compute()

    def losses(self, layer: str, find: Callable[[], Floats]) -> Floats:
        """Return what ``find`` returns, called once for each layer: programs are built twice to share textures."""
        if layer not in self._known:
            self._known[layer] = find()
        return self._known[layer]

    def texels(self, name: str, value: FeatureMap, padding: Sequence[int] = (0, 0, 0, 0), *, alpha: bool) -> Floats:
        """Return the texels of a layer's output in [0, 1], with its gutter: (height, width, 4 * slices).

        Args:
            name: of the layer.
            value: its range.
            padding: of the gutter (top, bottom, left, right).
            alpha: whether it is the picture: lanes beyond its channels are 1 inside, and all are 0 in its gutter.
        """
        top, bottom, left, right = padding
        stored = np.floor(self._maps[name] * (255.0 / value.scale_of) + value.zero_of + 0.5)
        height, width, channels = stored.shape
        made = np.zeros((height + top + bottom, width + left + right, 4 * len(value.views)), np.float32)
        made[:, :, :channels] = 0.0 if alpha else value.zero_of / 255.0
        inside = made[top : top + height, left : left + width]
        inside[:, :, :channels] = np.clip(stored, 0.0, 255.0) / 255.0
        inside[:, :, channels:] = float(alpha)
        return made


def most_lost(factors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the most that cuts take from a sum of some texels, (channels,), that is stored in 8 bits.

    Where few texels are added up, what they come to often lies just between two steps, and a cut of any size decides:
    these sums start higher by the whole of it.

    Args:
        factors: of each texel, (channels,).
    """
    texels_and_products = 2.0 * sum(np.abs(factor) for factor in factors)
    sums = 2.0 * len(factors)  # a last bit of a number below 2, of a sum that goes beyond its range
    return (texels_and_products + sums) * 2.0**-24


def lost(
    columns: Columns,
    constants: Floats,
    biases: Floats,
    late: Floats,
    texels: Floats,
    strides: Sequence[int],
    residual: Floats | None = None,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Floats:
    """Return by how much sums come out too high where additions are cut, in the mean: (slices, 4).

    Args:
        columns: how the kernel's columns follow one another.
        constants: the columns of all slices, (slices, columns, 4), and the residual's factor, if there is one, last.
        biases: where the sums start, but for (slices, 4).
        late: by how much they start lower, (slices, 4).
        texels: of the input, padded: (height, width, channels); see ``Typical.texels``.
        strides: (y, x).
        residual: texels of the residual (output height, output width, channels), if there is one.
        ends: what is stored of a sum saturates there.
    """
    height = (texels.shape[0] - columns.kernel_height) // strides[0] + 1
    width = (texels.shape[1] - columns.kernel_width) // strides[1] + 1
    count = int(np.clip(MOST_ADDITIONS // constants.size, FEWEST, POSITIONS))
    # Spread over the map, the same for every export.
    places = ((np.arange(count) + 0.5) * (height * width / count)).astype(np.int64)
    rows, cols = places // width, (places * 7919) % width
    lost = np.zeros((columns.slices, 4), np.float32)
    operands: dict[tuple[int, ...], Floats] = {}
    for index in range(columns.slices):
        reads = columns.read_by(index)
        if reads not in operands:
            operands[reads] = _operands(columns, reads, texels, rows * strides[0], cols * strides[1])
        factors = operands[reads]
        if residual is not None:
            added = residual[rows, cols, 4 * index : 4 * index + 4][:, None]
            factors = np.concatenate([np.broadcast_to(factors, (*factors.shape[:2], 4)), added], axis=1)
        lost[index] = _mean_loss(factors, constants[index], biases[index] - late[index], ends - late[index, :, None])
    return lost


def _mean_loss(factors: Floats, constants: Floats, start: Floats, ends: Floats) -> Floats:
    """Return by how much a slice's sums come out too high, in the mean, (4,).

    Args:
        factors: texels, (positions, columns, 1 or 4).
        constants: what they are multiplied by, (columns, 4).
        start: where the sums start, (4,).
        ends: the ends of the range in which cuts matter, (4, 2).
    """
    products = factors * constants
    sums = start + np.cumsum(products, axis=1, dtype=np.float32)
    # All is cut toward zero, half of the last bit in the mean: sums, products, and the bytes that became texels.
    inexact = (factors != 0.0) & (factors != 1.0)
    loss = np.where(products != 0.0, np.spacing(sums), 0.0)
    loss += np.where(inexact, np.spacing(products) + np.spacing(factors) * constants, 0.0)
    within = (sums[:, -1] > ends[:, 0]) & (sums[:, -1] < ends[:, 1])
    counts = within.astype(np.float32) + 1e-6  # all count where none is within
    mean: Floats = -0.5 * (loss.sum(axis=1) * counts).sum(axis=0) / counts.sum(axis=0)
    return mean


def _operands(
    columns: Columns, reads: Sequence[int], texels: Floats, rows: NDArray[np.int64], cols: NDArray[np.int64]
) -> Floats:
    """Return what the columns of weights are multiplied by: (positions, columns, 1), or 4 lanes in a depthwise one."""
    lanes = []
    depthwise = isinstance(columns, DepthwiseColumns)
    for slot, row, col, products in columns.taps(range(columns.slots)):
        texel = texels[rows + row, cols + col, 4 * reads[slot] : 4 * reads[slot] + 4]
        lanes += [texel if depthwise else texel[:, ["xyzw".index(product.lane)]] for product in products]
    return np.stack(lanes, axis=1)
