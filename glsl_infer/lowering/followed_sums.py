"""The sums of a convolution's shaders on their way, as a GPU makes them: product after product, in 32-bit floats.

``cut_sums`` asks what their last bits are. A layer has up to millions of weights, and each meets some hundred texels.
So sums of several slices are followed together, column after column, and a column is forgotten when it is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.conv_columns import Columns

Floats = NDArray[np.float32]

TOGETHER = 1 << 13
"""Sums that are followed together: so many stay in a processor's first cache."""

_EXPONENT = np.int32(0x7F800000)
_LAST_BIT = np.int32(23 << 23)
_SMALLEST = np.int32(24 << 23)


def last_bits(numbers: Floats) -> Floats:
    """Return what the last bit of each number is worth, with its sign: ``np.spacing`` in a tenth of its time.

    Of numbers below 1e-31 it is 1e-38.
    """
    bits = numbers.view(np.int32) & _EXPONENT
    np.maximum(bits, _SMALLEST, out=bits)
    bits -= _LAST_BIT
    signed: Floats = np.copysign(bits.view(np.float32), numbers)
    return signed


class Windows:
    """What a layer's columns of weights meet at some output pixels.

    Args:
        columns: how the kernel's columns follow one another.
        texels: of every tap, (positions, taps, channels).
    """

    def __init__(self, columns: Columns, texels: Floats) -> None:
        self._columns = columns
        self._texels = np.ascontiguousarray(texels.transpose(1, 2, 0))
        taps, slots, lanes = [], [], []
        for slot, row, col, products in columns.taps(range(columns.slots)):
            for product in products:
                taps.append(row * columns.kernel_width + col)
                slots.append(slot)
                lanes.append("xyzw".index(product.lane) if product.lane else 0)
        self._taps, self._slots, self._lanes = np.array(taps), np.array(slots), np.array(lanes)

    def factors(self, reads: Sequence[int]) -> Floats:
        """Return what each column meets, (columns, positions, 1), or (columns, positions, 4) in a depthwise layer."""
        channels = 4 * np.array(reads)[self._slots] + self._lanes
        if not self._columns.depthwise:
            single: Floats = self._texels[self._taps, channels][:, :, None]
            return single
        lanes = [self._texels[self._taps, channels + lane] for lane in range(4)]
        return np.stack(lanes, axis=2)


def groups(columns: Columns, positions: int) -> Iterator[list[int]]:
    """Yield the output slices that are followed together: those that read alike, a few at a time."""
    most = max(1, TOGETHER // (4 * positions))
    group: list[int] = []
    for index in range(columns.slices):
        if group and (len(group) == most or columns.read_by(index) != columns.read_by(group[0])):
            yield group
            group = []
        group.append(index)
    yield group


@dataclass(frozen=True)
class Followed:
    """Sums of some slices after their last column, and what they were on the way.

    Attributes:
        sums: where they end, (positions, slices, 4).
        of_products: the last bits of texels and products, added up; the same shape.
        of_sums: those of sums.
        fourth: the fourth components on their way, (slices, positions, columns); None unless they were asked for.
        changed: at which columns these changed.
    """

    sums: Floats
    of_products: Floats
    of_sums: Floats
    fourth: Floats | None
    changed: NDArray[np.bool_] | None


def follow(factors: Floats, constants: Floats, biases: Floats, *, fourth: bool, residual: Floats | None) -> Followed:
    """Follow the sums of slices that read alike.

    Args:
        factors: what the columns meet, (columns, positions, 1 or 4).
        constants: the columns, (slices, columns, 4), that of the residual last, if there is one.
        biases: where the sums start, (slices, 4).
        fourth: whether fourth components are to be kept.
        residual: what the last column meets, (positions, slices, 4), if there is one.
    """
    count, positions, slices = constants.shape[1], factors.shape[1], len(constants)
    shape = (positions, slices, 4)
    total, of_products, of_sums = (np.zeros(shape, np.float32) for _ in range(3))
    sums = np.empty(shape, np.float32)
    kept = np.empty((count, slices, positions), np.float32) if fourth else None
    changed = np.empty((count, slices, positions), np.bool_) if fourth else None
    # A block of partial sums has zeros for all the others.
    used = range(count) if fourth else np.flatnonzero(constants.any(axis=(0, 2)))
    for column in used:
        weights = constants[:, column]
        met = residual if column == len(factors) and residual is not None else factors[column][:, None]
        product = met * weights
        total += product
        np.add(biases, total, out=sums)
        # Bytes are cut where they become texels, and products are.
        cut = last_bits(product)
        cut += last_bits(met) * weights
        cut *= (met != 0.0) & (met != 1.0)
        of_products += cut
        moves = product != 0.0
        cut = last_bits(sums)
        cut *= moves
        of_sums += cut
        if kept is not None and changed is not None:
            kept[column], changed[column] = sums[:, :, 3].T, moves[:, :, 3].T
    if kept is None or changed is None:
        return Followed(biases + total, of_products, of_sums, None, None)
    order = (1, 2, 0)
    return Followed(
        biases + total,
        of_products,
        of_sums,
        np.ascontiguousarray(kept.transpose(order)),
        np.ascontiguousarray(changed.transpose(order)),
    )


def follow_bytes(factors: Floats, constants: Floats) -> Floats:
    """Return the last bits of sums and products of bytes, added up, (positions, slices, 4).

    Args:
        factors: what the columns meet, (columns, positions).
        constants: the bytes of slices that read alike, from 0 to 1, (slices, columns, 4).
    """
    shape = (factors.shape[1], len(constants), 4)
    total, cuts = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for column, met in enumerate(factors):
        product = met[:, None, None] * constants[:, column]
        total += product
        cut = last_bits(total)
        cut += last_bits(product)
        cut *= product != 0.0
        cuts += cut
    return cuts
