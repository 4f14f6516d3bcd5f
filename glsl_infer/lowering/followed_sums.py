"""The sums of a convolution's shaders on their way, as a GPU makes them: product after product, in 32-bit floats.

``cut_sums`` asks what their last bits are. A layer has up to millions of weights, and each meets some hundred texels.
So sums of several slices are followed together, column after column, and a column is forgotten when it is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.conv_columns import Columns

Floats = NDArray[np.float32]

TOGETHER = 1 << 16
"""Sums followed together: so many stay in a processor's second cache. With an eighth it takes twice as long."""

_EXPONENT = np.int32(0x7F800000)
_SIGN = np.int32(-(1 << 31))
_LAST_BIT = np.int32(23 << 23)
_SMALLEST = np.ldexp(np.float32(1.0), 24 - 127)


def last_bits(numbers: Floats, out: Floats | None = None) -> Floats:
    """Return what the last bit of each number is worth, with its sign: ``np.spacing`` in a twentieth of its time.

    Of numbers below 1e-31 it is 1e-38.

    Args:
        numbers: contiguous.
        out: where to put it.
    """
    found: Floats = np.empty_like(numbers) if out is None else out
    bits, given = found.view(np.int32), numbers.view(np.int32)
    np.bitwise_and(given, _EXPONENT, out=bits)
    np.maximum(found, _SMALLEST, out=found)  # of powers of two: as integers it takes four times as long
    bits -= _LAST_BIT
    bits |= given & _SIGN
    return found


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


@dataclass(frozen=True)
class _Order:
    """Which way numbers of positions and components lie, (positions, components) or the other way round.

    NumPy needs long rows of what is added up at once, and one of the two may be a dozen.
    """

    positions: int
    components: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.components, self.positions) if self._turned else (self.positions, self.components)

    @property
    def _turned(self) -> bool:
        return self.positions > self.components

    def of_positions(self, numbers: Floats) -> Floats:
        """Return what each position has, (positions,), or each of its components, (positions, components)."""
        return self.turn(numbers.reshape(self.positions, -1))

    def of_components(self, numbers: Floats) -> Floats:
        """Return what each component has, (components,)."""
        return self.turn(numbers.reshape(1, self.components))

    def turn(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers of (positions, components) as they lie here, or these as they were."""
        return np.ascontiguousarray(numbers.T) if self._turned else numbers

    def fourth(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the fourth of each four components, (slices, positions)."""
        return numbers[3::4] if self._turned else numbers[:, 3::4].T


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
    order = _Order(positions, 4 * slices)
    total, of_products, of_sums = (np.zeros(order.shape, np.float32) for _ in range(3))
    product, sums, cut, met_cut = (np.empty(order.shape, np.float32) for _ in range(4))
    starts = order.of_components(biases)
    kept = np.empty((count, slices, positions), np.float32) if fourth else None
    changed = np.empty((count, slices, positions), np.bool_) if fourth else None
    # A block of partial sums has zeros for all the others.
    used = range(count) if fourth else np.flatnonzero(constants.any(axis=(0, 2)))
    for column in used:
        weights = order.of_components(constants[:, column])
        met = order.of_positions(residual if residual is not None and column == len(factors) else factors[column])
        np.multiply(met, weights, out=product)
        total += product
        np.add(starts, total, out=sums)
        # Bytes are cut where they become texels, and products are.
        last_bits(product, out=cut)
        cut += np.multiply(last_bits(met), weights, out=met_cut)
        cut *= ((met != 0.0) & (met != 1.0)).astype(np.float32)
        of_products += cut
        moves = product != 0.0
        last_bits(sums, out=cut)
        cut *= moves
        of_sums += cut
        if kept is not None and changed is not None:
            kept[column], changed[column] = order.fourth(sums), order.fourth(moves)

    def given(numbers: Floats) -> Floats:
        return order.turn(numbers).reshape(positions, slices, 4)

    ends = given(starts + total), given(of_products), given(of_sums)
    if kept is None or changed is None:
        return Followed(*ends, None, None)
    last_axis = (1, 2, 0)
    return Followed(
        *ends, np.ascontiguousarray(kept.transpose(last_axis)), np.ascontiguousarray(changed.transpose(last_axis))
    )


def follow_bytes(factors: Floats, constants: Floats) -> Floats:
    """Return the last bits of sums and products of bytes, added up, (positions, slices, 4).

    Args:
        factors: what the columns meet, (columns, positions).
        constants: the bytes of slices that read alike, from 0 to 1, (slices, columns, 4).
    """
    positions, slices = factors.shape[1], len(constants)
    order = _Order(positions, 4 * slices)
    total, cuts = np.zeros(order.shape, np.float32), np.zeros(order.shape, np.float32)
    product, cut, of_product = (np.empty(order.shape, np.float32) for _ in range(3))
    for column, met in enumerate(factors):
        np.multiply(order.of_positions(met), order.of_components(constants[:, column]), out=product)
        total += product
        last_bits(total, out=cut)
        cut += last_bits(product, out=of_product)
        cut *= product != 0.0
        cuts += cut
    return order.turn(cuts).reshape(positions, slices, 4)
