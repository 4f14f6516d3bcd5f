"""Roll, concatenation and gated linear units of Keras -> nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.activations import sigmoids
from glsl_infer.importers.core import emit
from glsl_infer.importers.keras.call import Call, Converter


def _channels(call: Call, order: Sequence[int]) -> list[Node]:
    channels = tuple(int(channel) for channel in order)
    return [call.node("vector_gather" if len(call.shapes[0]) == 1 else "channel_gather", {"channels": channels})]


def roll(call: Call) -> list[Node]:
    """Convert ``keras.ops.roll``: channels by a gather; rows and columns as two parts that are swapped."""
    layer = call.layer
    shifts, axes = (value if isinstance(value, (list, tuple)) else (value,) for value in (layer.shift, layer.axis))
    axes = [call.axis(axis) + 1 for axis in axes]
    if axes == [len(call.shapes[0])] and len(shifts) == 1:
        return _channels(call, np.roll(np.arange(call.shapes[0][-1]), shifts[0]).tolist())
    if not set(axes) <= {1, 2} or len(call.shapes[0]) != 3 or len(axes) != len(shifts):
        raise call.refused("a roll", "roll rows, columns or channels")
    nodes: list[Node] = []
    height, width = call.shapes[0][:2]
    for number, (axis, shift) in enumerate(zip(axes, shifts)):
        length, source = (height, width)[axis - 1], nodes[-1].name if nodes else call.inputs[0]
        first = int(shift) % length  # number of trailing rows or columns that move to the front
        if not first:
            continue
        for part, start, count, margins in (
            ("last", length - first, first, (0, length - first)),
            ("first", 0, length - first, (first, 0)),
        ):
            name = call.name if not nodes else f"{call.name}-{part}-{number}"
            begin, size, padding = [0, 0], [height, width], [0, 0, 0, 0]
            begin[axis - 1], size[axis - 1], padding[2 * axis - 2 : 2 * axis] = start, count, margins
            attrs = {"begin": tuple(begin), "size": tuple(size), "strides": (1, 1)}
            nodes.append(Node(name, "spatial_slice", (source,), attrs))
            nodes.append(Node(f"{call.name}-{part}-{number}-pad", "zero_padding", (name,), {"padding": tuple(padding)}))
        both = (nodes[-3].name, nodes[-1].name)
        nodes.append(Node(f"{call.name}-{number}", "add", both, {"activation": "linear"}))
    return nodes or [call.node("identity")]


def concatenate(call: Call) -> list[Node]:
    """Convert a concatenation."""
    return emit.concatenated(call.name, call.inputs, call.shapes, call.axis(call.layer.axis))


def glu(call: Call) -> list[Node]:
    """Convert a gated linear unit of channels: the first half times the sigmoid of the second half."""
    half, axis = call.shapes[0][-1] // 2, call.axis(call.layer.axis) + 1
    if axis != len(call.shapes[0]):
        raise call.refused(f"axis={axis}", "only the last axis, the channels, can be exported")
    (first,) = _channels(call, range(half))
    (second,) = _channels(replace(call, name=f"{call.name}-other"), range(half, 2 * half))
    gate = Node(f"{call.name}-gate", "activation", (second.name,), {"function": sigmoids.SIGMOID.text})
    both = (first.name, gate.name)
    return [first, second, gate, Node(f"{call.name}-gated", "binary", both, {"operation": "multiply"})]


OPERATIONS: Mapping[str, Converter] = {
    "Concatenate": concatenate,
    "Glu": glu,
    "Roll": roll,
}
"""Converters by class name."""
