"""How a convolution's kernel is laid out for shaders that write one slice each.

For one output slice, every input channel of every tap contributes a column: a vec4 with the weights of
the four output channels. The columns of a slice follow one another by slot (which input slice), tap row,
tap column, lane; the bias is the last. All slices of a layer have columns in the same places, so that one
program with a uniform array serves them all; where channel groups leave a slice with fewer, they are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer import codegen
from glsl_infer.layout import slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Node


class Columns:
    """The columns of one layer.

    Attributes:
        reads: for every output slice, the input slices that its channels' groups touch, in order.
        slots: the longest of those.
        lanes: for every slot, the lanes (0 to 3) that any output slice reads.
        count: vec4 in the array of one output slice, the bias included.
    """

    def __init__(self, kernel_shape: Sequence[int], groups: int, channels: int) -> None:
        self.kernel_height, self.kernel_width, self.group_channels, self.filters = kernel_shape
        self.groups, self.channels = groups, channels
        self.slices = slices_of(self.filters)
        self.reads: list[tuple[int, ...]] = []
        lanes: list[set[int]] = []
        for index in range(self.slices):
            inputs = sorted({c for f in self._filters_of(index) for c in self._inputs_of(f)})
            reads = tuple(sorted({c // 4 for c in inputs}))
            self.reads.append(reads)
            lanes += [set() for _ in range(len(reads) - len(lanes))]
            for c in inputs:
                lanes[reads.index(c // 4)].add(c % 4)
        self.slots = len(lanes)
        self.lanes = tuple(tuple(sorted(one)) for one in lanes)
        self.taps_per_slot = self.kernel_height * self.kernel_width
        self.count = self.taps_per_slot * sum(len(one) for one in self.lanes) + 1

    @classmethod
    def of(cls, node: Node, channels: int) -> Columns:
        """Return the columns of a conv2d node whose input has that many channels."""
        return cls(node.weights["kernel"].shape, node.attrs["groups"], channels)

    def read_by(self, index: int) -> tuple[int, ...]:
        """Return the input slice of every slot for output slice ``index``; spare slots repeat the first."""
        reads = self.reads[index]
        return reads + (reads[0],) * (self.slots - len(reads))

    def pack(self, kernel: NDArray[np.float32], bias: NDArray[np.float32], pad_bias: float) -> NDArray[np.float32]:
        """Return the columns of all slices, float32 (slices, count, 4).

        ``pad_bias`` goes to lanes beyond the last filter: what the activation turns into 0.
        """
        flat = np.concatenate([kernel.reshape(-1), np.zeros(1, np.float32)])
        packed: NDArray[np.float32] = flat[self._kernel_index]  # index -1 is the zero at the end
        padded = np.full(4 * self.slices, pad_bias, np.float32)
        padded[: self.filters] = bias
        packed[:, -1, :] = padded.reshape(self.slices, 4)
        return packed

    def unpack(self, packed: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return (kernel, bias) from what ``pack`` made."""
        packed = packed.reshape(self.slices, self.count, 4)
        shape = (self.kernel_height, self.kernel_width, self.group_channels, self.filters)
        kernel = np.zeros(int(np.prod(shape)), np.float32)
        used = self._kernel_index >= 0
        kernel[self._kernel_index[used]] = packed[used]
        return kernel.reshape(shape), packed[:, -1, :].reshape(-1)[: self.filters].copy()

    def taps(self, weights: NDArray[np.float32] | None, coordinate: Callable[[int], str]) -> list[str]:
        """Return the GLSL lines that add up one slice's columns .

        One product a line: where several stand in one sum, compilers regroup constants, and baked weights would differ
        from uniform ones in the last bit. The bias, which starts the sum, is not among the lines.

        Args:
            weights: (count, 4) to write as constants, leaving out zeros; None to read the uniform array.
            coordinate: expression of the coordinate of each slot.
        """
        lines = []
        at = 0
        for slot in range(self.slots):
            for ky in range(self.kernel_height):
                for kx in range(self.kernel_width):
                    terms = []
                    for lane in self.lanes[slot]:
                        if weights is None:
                            terms.append(f"weights[{at}] * t.{'xyzw'[lane]}")
                        elif weights[at].any():
                            terms.append(f"{codegen.vec(weights[at])} * t.{'xyzw'[lane]}")
                        at += 1
                    if terms:
                        offset = f" + vec2({kx}.0, {ky}.0) * texel" if kx or ky else ""
                        lines.append(f"t = texture2D(source, {coordinate(slot)}{offset});")
                        lines += [f"sum += {term};" for term in terms]
        return lines

    def _filters_of(self, index: int) -> range:
        return range(4 * index, min(4 * index + 4, self.filters))

    def _inputs_of(self, filter_index: int) -> range:
        group = filter_index // (self.filters // self.groups)
        return range(group * self.group_channels, (group + 1) * self.group_channels)

    @cached_property
    def _kernel_index(self) -> NDArray[np.int64]:
        """For every packed weight, its place in the flat kernel, or -1; (slices, count, 4)."""
        index = np.full((self.slices, self.count, 4), -1, np.int64)
        starts = np.cumsum([0, *(self.taps_per_slot * len(one) for one in self.lanes)])
        taps = np.arange(self.taps_per_slot)
        for filter_index in range(self.filters):
            reads = self.reads[filter_index // 4]
            for i, channel in enumerate(self._inputs_of(filter_index)):
                slot = reads.index(channel // 4)
                lane = self.lanes[slot].index(channel % 4)
                places = starts[slot] + taps * len(self.lanes[slot]) + lane
                index[filter_index // 4, places, filter_index % 4] = (
                    taps * self.group_channels + i
                ) * self.filters + filter_index
        return index
