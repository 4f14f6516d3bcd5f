"""Keras operations that roll and concatenate channels, rows and columns -> nodes; norms and gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.activations import powers, sigmoids
from glsl_infer.importers.core import emit
from glsl_infer.importers.keras import reductions
from glsl_infer.importers.keras.call import Call, Converter


def _channels(call: Call, order: Sequence[int]) -> list[Node]:
    channels = tuple(int(channel) for channel in order)
    return [call.node("vector_gather" if len(call.shapes[0]) == 1 else "channel_gather", {"channels": channels})]


def roll(call: Call) -> list[Node]:
    """Convert ``keras.ops.roll``: channels by a gather; rows and columns as two parts that are swapped."""
    shifts, given = call.layer.shift, call.layer.axis
    shifts = tuple(shifts) if isinstance(shifts, (list, tuple)) else (shifts,)
    axes = [call.axis(axis) + 1 for axis in (given if isinstance(given, (list, tuple)) else (given,))]
    if axes == [len(call.shapes[0])] and len(shifts) == 1:
        return _channels(call, np.roll(np.arange(call.shapes[0][-1]), shifts[0]).tolist())
    if not set(axes) <= {1, 2} or len(call.shapes[0]) != 3 or len(axes) != len(shifts):
        raise call.refused("a roll", "roll rows, columns or channels")
    nodes: list[Node] = []
    size = list(call.shapes[0][:2])
    for number, (axis, shift) in enumerate(zip(axes, shifts)):
        length, source = size[axis - 1], nodes[-1].name if nodes else call.inputs[0]
        first = int(shift) % length  # number of trailing rows or columns that move to the front
        if not first:
            continue
        for part, begin, count, around in (
            ("last", length - first, first, (0, length - first)),
            ("first", 0, length - first, (first, 0)),
        ):
            name = call.name if not nodes else f"{call.name}-{part}-{number}"
            cut, start, padding = list(size), [0, 0], [0, 0, 0, 0]
            cut[axis - 1], start[axis - 1], padding[2 * axis - 2 : 2 * axis] = count, begin, around
            attrs = {"begin": tuple(start), "size": tuple(cut), "strides": (1, 1)}
            nodes.append(Node(name, "spatial_slice", (source,), attrs))
            nodes.append(Node(f"{call.name}-{part}-{number}-pad", "zero_padding", (name,), {"padding": tuple(padding)}))
        both = (nodes[-3].name, nodes[-1].name)
        nodes.append(Node(f"{call.name}-{number}", "add", both, {"activation": "linear"}))
    return nodes or [call.node("identity")]


def joined(call: Call) -> list[Node]:
    """Convert a concatenation."""
    return emit.concatenated(call.name, call.inputs, call.shapes, call.axis(call.layer.axis))


def norm(call: Call) -> list[Node]:
    """Convert ``keras.ops.norm`` of all values along the axes. Matrix norms are refused."""
    order, axis = call.layer.ord, call.layer.axis
    several = axis is None or (isinstance(axis, (list, tuple)) and len(axis) > 1)
    kinds = (None, "fro") if several else (None, "fro", 1, 2, float("inf"))
    if order not in kinds or axis is None:
        raise call.refused(f"a norm with ord={order!r}, axis={axis}", "name the axes; of two of them, give no ord")
    one = SimpleNamespace(axis=axis, keepdims=call.layer.keepdims)
    inside = powers.ABSOLUTE if order in (1, float("inf")) else powers.SQUARE
    kind = "Max" if order == float("inf") else "Sum"
    first = call.node(_function_op(call), {"function": inside.text})
    nodes = [
        first,
        *reductions.OPERATIONS[kind](replace(call, layer=one, name=f"{call.name}-sum", inputs=(call.name,))),
    ]
    if inside == powers.ABSOLUTE:
        return nodes
    root = Node(f"{call.name}-root", _function_op(call), (nodes[-1].name,), {"function": powers.SQRT.text})
    return [*nodes, root]


def _function_op(call: Call) -> str:
    return "activation" if all(len(shape) in (1, 3) for shape in (*call.shapes, call.shape)) else "tensor_function"


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
    "Concatenate": joined,
    "Glu": glu,
    "Norm": norm,
    "Roll": roll,
}
"""Converters by class name."""
