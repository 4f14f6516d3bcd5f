"""Simulate the sums of a convolution's shaders as a GPU computes them: product after product, in 32-bit floats.

``truncation`` needs the last bits of all partial sums. A layer has up to millions of weights, at some hundred pixels.
Therefore sums of several slices are simulated together, column by column, without keeping the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.conv_columns import Columns

Floats = NDArray[np.float32]

SUMS_AT_ONCE = 1 << 16
"""Sums simulated together, whose arrays fit a processor's level 2 cache. An eighth of it takes twice as long."""

_AT_A_TIME = 64
"""Positions that are transposed together, whose cache lines fit a processor's level 1 cache."""

_EXPONENT = np.int32(0x7F800000)
_SIGN = np.int32(-(1 << 31))
_LAST_BIT = np.int32(23 << 23)
_SMALLEST = np.ldexp(np.float32(1.0), 24 - 127)


def last_bits(numbers: Floats, out: Floats | None = None) -> Floats:
    """Return the signed value of each element's last bit, as ``np.spacing`` but 20 times as fast.

    For elements below 1e-31 it is 1e-38.

    Args:
        numbers: contiguous float32 array.
        out: array for the result, by default a new one.
    """
    result: Floats = np.empty_like(numbers) if out is None else out
    bits, number_bits = result.view(np.int32), numbers.view(np.int32)
    np.bitwise_and(number_bits, _EXPONENT, out=bits)
    np.maximum(result, _SMALLEST, out=result)  # of powers of two; with integers it takes four times as long
    bits -= _LAST_BIT
    bits |= number_bits & _SIGN
    return result


class Windows:
    """Input values multiplied by a layer's columns of weights, at some output pixels.

    Args:
        columns: layout of the kernel's columns.
        texels: input values at each tap, (positions, taps, channels).
    """

    def __init__(self, columns: Columns, texels: Floats) -> None:
        self._columns = columns
        positions, *taps_and_channels = texels.shape
        self._texels = np.empty((*taps_and_channels, positions), texels.dtype)
        for first in range(0, positions, _AT_A_TIME):
            self._texels[:, :, first : first + _AT_A_TIME] = texels[first : first + _AT_A_TIME].transpose(1, 2, 0)
        taps, slots, lanes = [], [], []
        for slot, row, col, products in columns.taps(range(columns.slots)):
            for product in products:
                taps.append(row * columns.kernel_width + col)
                slots.append(slot)
                lanes.append("xyzw".index(product.lane) if product.lane else 0)
        self._taps, self._slots, self._lanes = np.array(taps), np.array(slots), np.array(lanes)

    def factors(self, reads: Sequence[int]) -> Floats:
        """Return the input values of each column, (columns, positions, 1); the last axis is 4 in a depthwise layer."""
        channels = 4 * np.array(reads)[self._slots] + self._lanes
        if not self._columns.depthwise:
            single: Floats = self._texels[self._taps, channels][:, :, None]
            return single
        lanes = [self._texels[self._taps, channels + lane] for lane in range(4)]
        return np.stack(lanes, axis=2)


def groups(columns: Columns, positions: int) -> Iterator[list[int]]:
    """Yield groups of output slices to simulate together: a few slices with the same input slices."""
    group_size = max(1, SUMS_AT_ONCE // (4 * positions))
    group: list[int] = []
    for index in range(columns.slices):
        if group and (len(group) == group_size or columns.read_by(index) != columns.read_by(group[0])):
            yield group
            group = []
        group.append(index)
    yield group


@dataclass(frozen=True)
class SimulatedSums:
    """Sums of some slices after the last column, and their partial sums.

    Attributes:
        sums: final values, (positions, slices, 4).
        product_bits: total of the last bits of texels and products, same shape.
        sum_bits: total of the last bits of partial sums, same shape.
        fourth: partial sums of fourth components, (slices, positions, columns); None unless requested.
        changed: whether a column changed ``fourth``, same shape.
    """

    sums: Floats
    product_bits: Floats
    sum_bits: Floats
    fourth: Floats | None
    changed: NDArray[np.bool_] | None


@dataclass(frozen=True)
class _Order:
    """Axis order of arrays of positions and components: (positions, components), or transposed.

    NumPy is fast for long rows only, and one of the two axes can have a dozen elements.
    """

    positions: int
    components: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.components, self.positions) if self._transposed else (self.positions, self.components)

    @property
    def _transposed(self) -> bool:
        return self.positions > self.components

    def of_positions(self, numbers: Floats) -> Floats:
        """Return values of each position in this order, from (positions,) or (positions, components)."""
        return self.convert(numbers.reshape(self.positions, -1))

    def of_components(self, numbers: Floats) -> Floats:
        """Return values of each component in this order, from (components,)."""
        return self.convert(numbers.reshape(1, self.components))

    def convert(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Convert (positions, components) to this order, or back."""
        return np.ascontiguousarray(numbers.T) if self._transposed else numbers

    def fourth(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the fourth of each four components, (slices, positions)."""
        return numbers[3::4] if self._transposed else numbers[:, 3::4].T


def simulate(
    factors: Floats, constants: Floats, biases: Floats, *, fourth: bool, residual: Floats | None
) -> SimulatedSums:
    """Simulate the sums of slices with the same input slices.

    Args:
        factors: input values of the columns, (columns, positions, 1 or 4).
        constants: columns, (slices, columns, 4), with that of the residual last, if any.
        biases: initial values of the sums, (slices, 4).
        fourth: whether to return the partial sums of fourth components.
        residual: input values of the last column, (positions, slices, 4), if any.
    """
    count, positions, slices = constants.shape[1], factors.shape[1], len(constants)
    order = _Order(positions, 4 * slices)
    total, product_bits, sum_bits = (np.zeros(order.shape, np.float32) for _ in range(3))
    product, sums, bits, value_bits = (np.empty(order.shape, np.float32) for _ in range(4))
    starts = order.of_components(biases)
    fourth_sums = np.empty((slices, count, positions), np.float32) if fourth else None
    changed = np.empty((slices, count, positions), np.bool_) if fourth else None
    # A block of a wide convolution has zeros in the columns of other blocks.
    columns = range(count) if fourth else np.flatnonzero(constants.any(axis=(0, 2)))
    for column in columns:
        weights = order.of_components(constants[:, column])
        values = order.of_positions(residual if residual is not None and column == len(factors) else factors[column])
        np.multiply(values, weights, out=product)
        total += product
        np.add(starts, total, out=sums)
        # Truncation occurs in the conversion of bytes to texels, and in products.
        last_bits(product, out=bits)
        bits += np.multiply(last_bits(values), weights, out=value_bits)
        bits *= ((values != 0.0) & (values != 1.0)).astype(np.float32)
        product_bits += bits
        adds = product != 0.0
        last_bits(sums, out=bits)
        bits *= adds
        sum_bits += bits
        if fourth_sums is not None and changed is not None:
            fourth_sums[:, column], changed[:, column] = order.fourth(sums), order.fourth(adds)

    def reshaped(numbers: Floats) -> Floats:
        return order.convert(numbers).reshape(positions, slices, 4)

    totals = reshaped(starts + total), reshaped(product_bits), reshaped(sum_bits)
    if fourth_sums is None or changed is None:
        return SimulatedSums(*totals, None, None)
    last_axis = (0, 2, 1)
    return SimulatedSums(
        *totals,
        np.ascontiguousarray(fourth_sums.transpose(last_axis)),
        np.ascontiguousarray(changed.transpose(last_axis)),
    )


def byte_product_bits(factors: Floats, constants: Floats) -> Floats:
    """Return the total of the last bits of sums and products of bytes, (positions, slices, 4).

    Args:
        factors: input values of the columns, (columns, positions).
        constants: bytes of slices with the same input slices divided by 255, (slices, columns, 4).
    """
    positions, slices = factors.shape[1], len(constants)
    order = _Order(positions, 4 * slices)
    total, total_bits = np.zeros(order.shape, np.float32), np.zeros(order.shape, np.float32)
    product, bits, product_last_bits = (np.empty(order.shape, np.float32) for _ in range(3))
    for column, values in enumerate(factors):
        np.multiply(order.of_positions(values), order.of_components(constants[:, column]), out=product)
        total += product
        last_bits(total, out=bits)
        bits += last_bits(product, out=product_last_bits)
        bits *= product != 0.0
        total_bits += bits
    return order.convert(total_bits).reshape(positions, slices, 4)
