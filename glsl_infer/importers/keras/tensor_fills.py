"""Keras operations that fill tensors with one value, broadcast a tensor or extract patches -> nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core.convolutions import padding_of
from glsl_infer.importers.keras import moves
from glsl_infer.importers.keras.call import Call, Converter, is_tensor, pair
from glsl_infer.importers.keras.elementwise import by, chain_of
from glsl_infer.importers.keras.geometry import slice_
from glsl_infer.importers.keras.tensor_places import moved, placed
from glsl_infer.ops.constant_map import constant_map


def _filled(value: Callable[[Call], Any]) -> Converter:
    """Return the converter of an operation whose result has the input's shape and one value everywhere."""

    def convert(call: Call) -> list[Node]:
        given = value(call)
        if is_tensor(given) or np.size(given) != 1:
            raise call.refused("a fill by numbers that the network computes", "give it one number")
        number = float(np.asarray(given).reshape(-1)[0])
        if len(call.shapes[0]) == 3:
            return [constant_map(call.name, np.full(call.shapes[0], number))]
        chain = chain_of(call)
        by(chain, "multiply", 0.0)
        return by(chain, "add", number) if number else chain.nodes

    return convert


def _broadcast_shape(call: Call) -> tuple[int, ...]:
    batch, *others = call.layer.shape
    if batch not in (1, -1, None):
        raise call.refused(f"a shape of {tuple(call.layer.shape)}", "keep the batch as the first axis, of 1")
    return (1, *(int(size) for size in others))


def _broadcast(call: Call) -> list[Node]:
    """Convert ``keras.ops.broadcast_to`` of channels, or of a 1x1 map to a larger map."""
    target, own = _broadcast_shape(call), (1, *call.shapes[0])
    if len(target) != len(own) or any(size not in (1, wanted) for size, wanted in zip(own, target)):
        raise call.refused(f"a shape of {target}", "give one that the tensor's broadcasts to, with as many axes")
    times = tuple(wanted // size for size, wanted in zip(own, target))
    return moves.tile(replace(call, layer=SimpleNamespace(repeats=times)))


def _patches(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.extract_patches``: each pixel of the result has the values of a window."""
    layer = call.layer
    if len(call.shapes[0]) != 3 or len(layer.size) != 2:
        raise call.refused(
            f"patches of an input of {call.shapes[0]}", "give it a feature map, and size=(height, width)"
        )
    call.require_channels_last()
    size, dilation = pair(layer.size), pair(layer.dilation_rate)
    strides = size if layer.strides in (None, ()) else pair(layer.strides)
    reach = tuple((length - 1) * step + 1 for length, step in zip(size, dilation))
    height, width, channels = call.shapes[0]
    around = padding_of(layer.padding, (height, width), size, strides, dilation)
    name, nodes = call.inputs[0], list[Node]()
    if any(around):
        name = f"{call.name}-padded"
        nodes.append(
            Node(name, "tensor_pad", call.inputs, {"padding": (*around, 0, 0), "mode": "constant", "value": 0})
        )
        height, width = height + around[0] + around[1], width + around[2] + around[3]
    starts = [np.arange(0, length - span + 1, step) for length, span, step in zip((height, width), reach, strides)]
    inside = [np.arange(length) * step for length, step in zip(size, dilation)]
    numbers = np.arange(height * width * channels).reshape(height, width, channels)
    rows, columns = (start[:, None] + offset for start, offset in zip(starts, inside))
    taken = numbers[rows[:, None, :, None], columns[None, :, None, :]]
    shape = (*taken.shape[:2], math.prod(taken.shape[2:]))
    padded = replace(call, inputs=(name,), shapes=((height, width, channels),))
    return [*nodes, *placed(padded, taken.reshape(shape))]


FILLS: Mapping[str, Converter] = {
    "FullLike": _filled(lambda call: call.arguments[1]),
    "OnesLike": _filled(lambda call: 1.0),
    "ZerosLike": _filled(lambda call: 0.0),
}
"""Converters by class name, for tensors of any rank."""

OPERATIONS: Mapping[str, Converter] = {**FILLS, "BroadcastTo": _broadcast}
"""Converters to operators with shaders, by class name."""

ON_CPU: Mapping[str, Converter] = {
    **FILLS,
    "BroadcastTo": moved(lambda call, numbers: np.broadcast_to(numbers, _broadcast_shape(call))),
    "ExtractPatches": _patches,
    "Slice": slice_,
}
"""Converters to nodes for the CPU, by class name."""
