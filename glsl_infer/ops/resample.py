"""Rows or columns of a feature map as weighted sums of input rows or columns: cubic and antialiased resizes, crops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.operator import Operator, feature_map
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, View, per_channel

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value

MOST_TAPS = 64
"""Largest number of terms of a sum; each has two fetches."""

MOST_WRITTEN_OUT = 16
"""Largest number of taps with a line each; compilers do not unroll longer loops."""

_MIDDLE = 1 << 23


class Resample(Operator):
    """Weighted sums along an axis (0: rows, 1: columns).

    Output i is the sum over t of ``kernel[t, i] * input[first[i] + t]``, plus ``offset[i]``. Weights ``kernel``, (taps,
    length), and ``offset``, (length,), are 24-bit multiples of the attributes ``kernel_unit`` and ``offset_unit``.
    Attributes: ``axis``; ``first``, the first row or column read by each output, all within the map; and the output's
    range.
    """

    attrs = {"axis": 0, "first": (), "kernel_unit": 1.0, "offset_unit": 1.0, "scales": None, "zeros": None}
    weights = ("kernel", "offset")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, channels)."""
        sides = list(feature_map(node, inputs[0]))
        axis, first = node.attrs["axis"], node.attrs["first"]
        kernel, offset = (node.weights[name].shape for name in self.weights)
        taps, length = kernel if len(kernel) == 2 else (0, 0)
        if (
            axis not in (0, 1)
            or not 1 <= taps <= MOST_TAPS
            or offset != (length,)
            or len(first) != length
            or not length
        ):
            raise ModelError.layer(
                node.name,
                f"sums of {taps} along axis {axis}, for {len(first)} outputs",
                f"give axis 0 or 1, and 1 to {MOST_TAPS} weights and a first place for each output",
            )
        if min(first) < 0 or max(first) + taps > sides[axis] or length > MAX_TEXTURE_SIZE:
            raise ModelError.layer(
                node.name,
                f"{length} sums of {taps} from places {min(first)} to {max(first)} of {sides[axis]}",
                f"all places must be in the map, and there are at most {MAX_TEXTURE_SIZE} sums",
            )
        sides[axis] = length
        return sides[0], sides[1], sides[2]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add the weighted rows or columns."""
        axis = node.attrs["axis"]
        kernel, offset = (node.weights[name].astype(inputs[0].dtype) for name in self.weights)
        first = np.asarray(node.attrs["first"])
        broadcast_shape = [1, 1, 1]
        broadcast_shape[axis] = -1
        total: Array = np.zeros((), inputs[0].dtype) + offset.reshape(broadcast_shape)
        for tap, weights in enumerate(kernel):
            total = total + inputs[0].take(first + tap, axis=axis) * weights.reshape(broadcast_shape)
        return total

    def passes(self, node: Node, build: Builder) -> None:
        """Draw each slice; a texture has weights, offset and first index of each output."""
        source = build.feature_map(node.inputs[0])
        axis = node.attrs["axis"]
        texels = texels_of(node)
        if axis == 0:
            texels = texels.transpose(1, 0, 2)
        height, width = texels.shape[:2]
        table = build.constant_texture(node, width, height, np.ascontiguousarray(texels).tobytes())
        target = build.allocate_map(node, scales=node.attrs["scales"], zeros=node.attrs["zeros"])
        scales, zeros = per_channel(target.scales, target.channels), per_channel(target.zeros, target.channels)
        factor = source.scale_of / scales
        constants = {
            "factor": fold.slices(factor * node.attrs["kernel_unit"]),
            "centre": fold.slices(-source.zero_of / 255.0),
            "gain": fold.slices(node.attrs["offset_unit"] / scales),
            "start": fold.slices(zeros / 255.0),
        }
        taps = node.weights["kernel"].shape[0]
        lines = [f"add({tap}.0);" for tap in range(taps)] if taps <= MOST_WRITTEN_OUT else []
        for index, (read, view) in enumerate(zip(source.views, target.views)):
            stride = (1.0, 0.0) if axis == 1 else (0.0, 1.0)
            binding = build.bind(
                node,
                source=[Read(read, stride=(stride[1], stride[0]))],
                table=[Read(View(table, 0, 0), stride=stride)],
            )
            fragment = codegen.fragment(
                "resample.frag",
                includes=["store.glsl"],
                lines={"declarations": binding.declarations("source", "table"), "taps": lines},
                defines={"AXIS_X": axis, "TAPS": taps, **({"UNROLLED": 1} if lines else {})},
            )
            values = {
                **binding.texels("source", "table"),
                **{key: rows[index].tolist() for key, rows in constants.items()},
            }
            build.draw_tile(node, fragment, view, (target.width, target.height), binding, values)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return weights and offsets from their texture."""
        taps, length = shapes["kernel"]
        encoded = np.frombuffer(members[0], np.uint8).astype(np.int64)
        sides = (length, taps + 2) if node.attrs["axis"] == 0 else (taps + 2, length)
        table = encoded.reshape(*sides, 4)
        if node.attrs["axis"] == 0:
            table = table.transpose(1, 0, 2)
        integers = (table[..., 0] << 16) + (table[..., 1] << 8) + table[..., 2] - _MIDDLE
        return {
            "kernel": (integers[:taps] * node.attrs["kernel_unit"]).astype(np.float32),
            "offset": (integers[taps] * node.attrs["offset_unit"]).astype(np.float32),
        }


def texels_of(node: Node) -> NDArray[np.uint8]:
    """Return uint8 (taps + 2, length, 4): weights, offset, and the first index in red and green."""
    rows = []
    for name in ("kernel", "offset"):
        integers = (
            np.rint(node.weights[name].astype(np.float64) / node.attrs[f"{name}_unit"]).astype(np.int64) + _MIDDLE
        )
        rows.append(np.atleast_2d(integers))
    columns = np.concatenate([*rows, np.asarray(node.attrs["first"], np.int64)[None] << 8])
    return np.stack([columns >> 16, (columns >> 8) & 255, columns & 255, 0 * columns], axis=-1).astype(np.uint8)


def rounded(
    kernel: NDArray[np.float64], offset: NDArray[np.float64]
) -> tuple[dict[str, float], dict[str, NDArray[np.float32]]]:
    """Round kernel and offset to 24 bits; return the attributes with their units, and the weights.

    Args:
        kernel: (taps, length).
        offset: (length,).
    """
    attrs: dict[str, float] = {}
    weights: dict[str, NDArray[np.float32]] = {}
    for name, values in (("kernel", kernel), ("offset", offset)):
        largest = float(np.abs(values).max()) or 1.0
        unit = 2.0 ** float(np.ceil(np.log2(largest)) - 22.0)
        attrs[f"{name}_unit"] = unit
        weights[name] = (np.clip(np.rint(values / unit), 1 - _MIDDLE, _MIDDLE - 1) * unit).astype(np.float32)
    return attrs, weights


OPERATOR = Resample()
