"""Layout of a convolution's kernel for shaders that compute one output slice each.

For an output slice, each input channel of each tap has a column: a vec4 of weights for the four output channels.
Columns are ordered by slot (input slice), tap row, tap column, lane. All slices of a layer have the same layout, so
that one program with a uniform array serves them all. Where channel groups need fewer columns, the rest are 0.

A depthwise convolution does not mix lanes. A tap has one column there, with the weights of its four channels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering.taps import Product
from glsl_infer.program.layout import slices_of


def columns_of(kernel_shape: Sequence[int], groups: int, dilations: Sequence[int] = (1, 1)) -> Columns:
    """Return the column layout of a kernel (height, width, channels / groups, filters).

    ``dilations`` (y, x) are the distances of taps in texels.
    """
    return _columns_of(tuple(kernel_shape), groups, (dilations[0], dilations[1]))


@lru_cache(maxsize=256)  # the reference of a wide convolution needs it for each image
def _columns_of(kernel_shape: tuple[int, ...], groups: int, dilations: tuple[int, int]) -> Columns:
    depthwise = groups > 1 and kernel_shape[2] == 1 and kernel_shape[3] == groups
    return (DepthwiseColumns if depthwise else Columns)(kernel_shape, groups, dilations)


class Columns:
    """Column layout of a layer.

    Attributes:
        dilations: distances of taps in texels, (y, x).
        slices: number of output slices.
        reads: input slices of each output slice's channel groups, in order.
        slots: largest number of input slices of an output slice.
        lanes: lanes (0 to 3) of each slot that any output slice reads.
        starts: first column of each slot, followed by the number of columns.
    """

    depthwise = False
    """True if each weight of a column multiplies its own lane; False if all multiply the same lane."""

    def __init__(self, kernel_shape: Sequence[int], groups: int, dilations: tuple[int, int] = (1, 1)) -> None:
        self.dilations = dilations
        self.kernel_height, self.kernel_width, self.group_channels, self.filters = kernel_shape
        self.groups = groups
        self.slices = slices_of(self.filters)
        self.reads, self.lanes = self._slots()
        self.slots = len(self.lanes)
        self.taps_per_slot = self.kernel_height * self.kernel_width
        columns_per_slot = [self.taps_per_slot * self._columns_per_tap(slot) for slot in range(self.slots)]
        self.starts: tuple[int, ...] = tuple(np.cumsum([0, *columns_per_slot]).tolist())

    def _slots(self) -> tuple[list[tuple[int, ...]], tuple[tuple[int, ...], ...]]:
        """Return ``reads`` and ``lanes``."""
        reads: list[tuple[int, ...]] = []
        lanes: list[set[int]] = []
        previous: list[int] = []
        for index in range(self.slices):
            filters_per_group = self.filters // self.groups
            groups_read = sorted({filter_index // filters_per_group for filter_index in self._filters_of(index)})
            if reads and groups_read == previous:
                reads.append(reads[-1])
                continue
            previous = groups_read
            channels = range(groups_read[0] * self.group_channels, (groups_read[-1] + 1) * self.group_channels)
            first_slice = channels.start // 4
            reads.append(tuple(range(first_slice, slices_of(channels.stop))))
            lanes += [set() for _ in range(len(reads[-1]) - len(lanes))]
            for channel in channels:
                lanes[channel // 4 - first_slice].add(channel % 4)
        return reads, tuple(tuple(sorted(slot_lanes)) for slot_lanes in lanes)

    @property
    def count(self) -> int:
        """Columns of an output slice."""
        return self.starts[-1]

    def read_by(self, index: int) -> tuple[int, ...]:
        """Return the input slice of each slot for output slice ``index``; unused slots repeat the first."""
        reads = self.reads[index]
        return reads + (reads[0],) * (self.slots - len(reads))

    @property
    def used(self) -> NDArray[np.bool_]:
        """Mask of the packed weights that belong to the kernel, (slices, count, 4); the others are 0."""
        return np.asarray(self._kernel_index >= 0)

    def pack(self, kernel: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the columns of all slices, float32 (slices, count, 4)."""
        flat = np.concatenate([kernel.reshape(-1), np.zeros(1, np.float32)])
        packed: NDArray[np.float32] = flat[self._kernel_index]  # index -1 is the zero at the end
        return packed

    def unpack(self, packed: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the kernel; the inverse of ``pack``."""
        shape = (self.kernel_height, self.kernel_width, self.group_channels, self.filters)
        kernel = np.zeros(int(np.prod(shape)), np.float32)
        used = self._kernel_index >= 0
        kernel[self._kernel_index[used]] = packed.reshape(self.slices, self.count, 4)[used]
        return kernel.reshape(shape)

    def taps(self, slots: Iterable[int]) -> Iterator[tuple[int, int, int, list[Product]]]:
        """Yield (slot, tap row, tap column, products) for some slots, in the order of the columns."""
        for slot in slots:
            first = self.starts[slot]
            lanes = self._operands(slot)
            for row, column in product(range(self.kernel_height), range(self.kernel_width)):
                yield slot, row, column, [Product(first + offset, lane) for offset, lane in enumerate(lanes)]
                first += len(lanes)

    def _columns_per_tap(self, slot: int) -> int:
        return len(self.lanes[slot])

    def _operands(self, slot: int) -> list[str]:
        return ["xyzw"[lane] for lane in self.lanes[slot]]

    def _filters_of(self, index: int) -> range:
        return range(4 * index, min(4 * index + 4, self.filters))

    def _inputs_of(self, filter_index: int) -> range:
        group = filter_index // (self.filters // self.groups)
        return range(group * self.group_channels, (group + 1) * self.group_channels)

    @cached_property
    def _kernel_index(self) -> NDArray[np.int64]:
        """Index of each packed weight in the flat kernel, or -1; (slices, count, 4)."""
        index = np.full((self.slices, self.count, 4), -1, np.int64)
        taps = np.arange(self.taps_per_slot)
        lane_counts = np.array([len(lane) for lane in self.lanes])
        lane_offsets = np.zeros((self.slots, 4), np.int64)
        for slot, lanes in enumerate(self.lanes):
            lane_offsets[slot, list(lanes)] = np.arange(len(lanes))
        first_weights = (taps[:, None] * self.group_channels + np.arange(self.group_channels)) * self.filters
        previous: tuple[range, tuple[int, ...]] | None = None
        for filter_index in range(self.filters):
            inputs, reads = self._inputs_of(filter_index), self.reads[filter_index // 4]
            if (inputs, reads) != previous:
                previous = inputs, reads
                channels = np.array(inputs)
                slots = np.searchsorted(reads, channels // 4)
                first = np.array(self.starts)[slots] + lane_offsets[slots, channels % 4]
                column_indices = first + taps[:, None] * lane_counts[slots]
            index[filter_index // 4, column_indices, filter_index % 4] = first_weights + filter_index
        return index


class DepthwiseColumns(Columns):
    """Layout with one column for each tap: lane j of a column multiplies lane j of the texel.

    It holds the weight of channel 4i + j for output slice i.
    """

    depthwise = True

    def _columns_per_tap(self, slot: int) -> int:
        return 1

    def _operands(self, slot: int) -> list[str]:
        return [""]

    @cached_property
    def _kernel_index(self) -> NDArray[np.int64]:
        index = np.full((self.slices, self.count, 4), -1, np.int64)
        taps, filters = np.arange(self.taps_per_slot), np.arange(self.filters)[:, None]
        index[filters // 4, taps, filters % 4] = taps * self.filters + filters
        return index
