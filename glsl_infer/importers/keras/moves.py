"""Converters of roll, concatenation and gated linear units of Keras."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.activations import sigmoids
from glsl_infer.importers.core import emit, moves
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor


def _channels(call: Call, order: Sequence[int]) -> list[Node]:
    channels = tuple(int(channel) for channel in order)
    return [call.node("vector_gather" if len(call.shapes[0]) == 1 else "channel_gather", {"channels": channels})]


def roll(call: Call) -> list[Node]:
    """Convert ``keras.ops.roll``: channels by a gather; rows and columns as two parts that are swapped."""
    layer, shape = call.layer, call.shapes[0]
    shifts, axes = (value if isinstance(value, (list, tuple)) else (value,) for value in (layer.shift, layer.axis))
    axes = [call.axis(axis) for axis in axes]
    if axes == [len(shape) - 1] and len(shifts) == 1:
        return _channels(call, np.roll(np.arange(shape[-1]), shifts[0]).tolist())
    if not set(axes) <= {0, 1} or len(shape) != 3 or len(axes) != len(shifts):
        raise call.refused("a roll", "roll rows, columns or channels")
    chain = emit.Chain(call.name, call.inputs[0], shape)
    for axis, shift in zip(axes, shifts):
        last, source = shape[axis] - int(shift) % shape[axis], chain.last  # the rest moves to the front
        names, shapes = [], []
        for line in (range(last, shape[axis]), range(last)) if last < shape[axis] else ():
            parts = [line if index == axis else range(size) for index, size in enumerate(shape)]
            chain.extend(emit.sliced(chain.free("part"), source, shape, parts))
            names.append(chain.last)
            shapes.append(tuple(map(len, parts)))
        if names:
            chain.extend(moves.concatenated(chain.free("rolled"), names, shapes, axis))
    return chain.nodes or [call.node("identity")]


def concatenate(call: Call) -> list[Node]:
    """Convert a concatenation of tensors, or of tensors and constants."""
    axis = call.axis(call.layer.axis)
    constants = [None if is_tensor(value) else array(value) for value in call.operands]
    if all(value is None for value in constants):
        return emit.concatenated(call.name, call.inputs, call.shapes, axis)
    if any(value is not None and value.shape[0] != 1 for value in constants):
        raise call.refused("a constant with a batch", "give constants for one image")
    return emit.concatenated_with(call.name, call.inputs, call.shapes, constants, axis)


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
