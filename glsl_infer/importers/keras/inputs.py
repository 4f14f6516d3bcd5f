"""Inputs of a Keras model -> nodes: images, maps, vectors and sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.shared.ends import input_attrs, numbers_map
from glsl_infer.importers.shared.long_rows import in_rows

_SIZED = (
    "(height, width, channels), (height, width) or (length, channels), (length,), or (frames, height, width, channels)"
)

_OF_NUMBERS = ("Add", "Divide", "Multiply", "Subtract", "TrueDivide")
_DROPPED = ("AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "Identity")
_KEEPS_AXES = (*_OF_NUMBERS, *_DROPPED, "Cast", "Clip", "Normalization", "Rescaling")
"""Layers and operations whose output is still an image if their input is one."""


def input_nodes(call: Call) -> list[Node]:
    """Convert an input.

    An input of two axes is a grey image if the model adds a channel axis or flattens it. It becomes a map of one
    channel, and ``picture_shape`` adds the channel to the shapes after it. Any other such input is a sequence (length,
    channels): a map of one row. Four axes are frames (frames, height, width, channels): a map with the frames below
    each other.
    """
    shape = tuple(call.layer.batch_shape)[1:]
    if len(shape) == 3 and None in shape[:2] and shape[2] is not None:
        advice = f"give --input-size {call.name}=HEIGHTxWIDTH, or keras.Input a fixed (height, width, channels)"
        raise call.refused(f"an input of any size, {shape}", advice)
    if len(shape) not in (1, 2, 3, 4) or None in shape:
        example = "x".join("SIZE" if size is None else str(size) for size in (1, *shape))
        option = f"give --input-shape {call.name}={example}, or " if None in shape else "give "
        raise call.refused(f"an input of shape {shape}", f"{option}keras.Input a fixed {_SIZED}")
    if len(shape) == 1:
        return [call.node("input_fixed", {"shape": shape})]
    if len(shape) == 3:
        return [call.node("input", input_attrs(shape))]
    if len(shape) == 4:
        frames, height, width, channels = shape
        below = call.node("input", numbers_map((frames * height, width, channels)))
        return [below, Node(f"{call.name}-frames", "reshape", (call.name,), {"shape": shape})]
    if _is_grey(call.layer, shape):
        return [call.node("input", input_attrs((*shape, 1)))]
    row = call.node("input", numbers_map(in_rows((1, *shape))))
    return [row, Node(f"{call.name}-axes", "reshape", (call.name,), {"shape": shape})]


def picture_shape(operation: Any, shapes: Sequence[Shape], made: Shape) -> Shape:
    """Return the shape of an operation's output, with the channel axis of a grey image that Keras lacks."""
    is_grey = len(shapes) == 1 and shapes[0] == (*made, 1) and type(operation).__name__ in _KEEPS_AXES
    return shapes[0] if is_grey else made


def _is_grey(operation: Any, shape: Shape) -> bool:
    """Return whether all readers of a tensor (height, width) treat it as an image without a channel axis."""
    return bool(operation._outbound_nodes) and all(_reads_grey(node, shape) for node in operation._outbound_nodes)


def _reads_grey(node: Any, shape: Shape) -> bool:
    operation, made = node.operation, tuple(node.output_tensors[0].shape[1:])
    kind = type(operation).__name__
    if getattr(operation, "inputs", None) and hasattr(operation, "layers"):  # a nested model
        return all(_is_grey(tensor._keras_history.operation, shape) for tensor in operation.inputs)
    if kind in ("Reshape", "ExpandDims"):
        return made == (*shape, 1) or len(made) == 1
    if kind not in _KEEPS_AXES or made != shape:
        return kind == "Flatten"
    given = (*node.arguments.args, *node.arguments.kwargs.values())
    beside = [value for value in given if not hasattr(value, "_keras_history")] if kind in _OF_NUMBERS else []
    own = [getattr(operation, name, None) for name in ("mean", "scale", "offset")]
    numbers = [value for value in (*beside, *own) if value is not None]
    plain = all(math.prod(getattr(value, "shape", np.shape(value))) == 1 for value in numbers)
    return plain and len(node.input_tensors) == 1 and _is_grey(operation, shape)
