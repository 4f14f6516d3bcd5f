"""Nodes for the inputs of a Keras model, and models with open heights and widths, rebuilt for given sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core.io_options import by_name, in_rows, input_attrs, numbers_map, require_inputs
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.installed import keras

Sizes = Mapping[str, tuple[int, int]]
"""(height, width) of inputs, by name. The empty name selects all inputs with open sizes."""


def open_inputs(model: Any) -> list[str]:
    """Return the names of the input maps with open height or width."""
    return [tensor.name for tensor in model.inputs if len(tensor.shape) == 4 and None in tensor.shape[1:3]]


def with_sizes(model: Any, sizes: Sizes, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Any:
    """Return a model with these input sizes; the model itself if none is given.

    Args:
        model: the Keras model.
        sizes: (height, width) of inputs with open sizes, by name.
        shapes: complete shapes of inputs with a batch of 1, by name. They replace the shapes of the model.

    Raises:
        InputError: a size for an unknown input, or one that contradicts a fixed size; a shape with another rank.
        ModelError: the layers cannot be called on such inputs.
    """
    names = [str(tensor.name) for tensor in model.inputs]
    new_shapes = by_name("--input-shape", shapes or {}, names)
    for tensor in model.inputs:
        requested = new_shapes.get(tensor.name)
        if requested is not None and (len(requested) != len(tensor.shape) or requested[0] != 1):
            option = f"--input-shape {'x'.join(map(str, requested))}"
            raise InputError(
                f"{option}: input '{tensor.name}' has {len(tensor.shape)} axes; give a size for each, with a batch of 1"
            )
    require_inputs(sizes, names)
    new_sizes = _sizes_of_open_inputs(model, sizes)
    if not new_sizes and not new_shapes:
        if sizes:
            raise InputError("--input-size: no input of the model is an image of free height and width; leave it out")
        return model
    installed = keras()
    inputs = []
    for tensor in model.inputs:
        shape = _filled(tensor.shape[1:], new_sizes.get(tensor.name))
        if tensor.name in new_shapes:
            shape = new_shapes[tensor.name][1:]
        inputs.append(installed.Input(shape, name=tensor.name, dtype=tensor.dtype))
    try:
        tensors = inputs  # a Sequential has no structure of inputs
        if not isinstance(model, installed.Sequential):
            tensors = installed.tree.pack_sequence_as(model.input, inputs)
        return installed.models.clone_model(model, input_tensors=tensors, clone_function=lambda layer: layer)
    except Exception as error:  # Keras raises a dozen exception classes here; all mean a size that does not fit
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"model '{model.name}' cannot be built for inputs of that size: {lines[0]}") from error


def _sizes_of_open_inputs(model: Any, sizes: Sizes) -> dict[str, tuple[int, int]]:
    """Return the requested (height, width) of each input with open sizes, by name.

    Raises:
        InputError: a size contradicts a fixed size of the model.
    """
    free, new_sizes = open_inputs(model), dict[str, tuple[int, int]]()
    for tensor in model.inputs:
        size = sizes.get(tensor.name) or (sizes.get("") if tensor.name in free else None)
        if size is None or len(tensor.shape) != 4:
            continue
        if any(own not in (None, requested) for own, requested in zip(tensor.shape[1:3], size)):
            own = "x".join("any" if length is None else str(length) for length in tensor.shape[1:3])
            raise InputError(f"--input-size {size[0]}x{size[1]}: input '{tensor.name}' is {own}, and not free")
        if tensor.name in free:
            new_sizes[tensor.name] = size
    return new_sizes


def _filled(shape: tuple[int | None, ...], size: tuple[int, int] | None) -> tuple[int | None, ...]:
    if size is None:
        return shape
    return tuple(requested if own is None else own for requested, own in zip((*size, None), shape))


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


def picture_shape(operation: Any, shapes: Sequence[Shape], keras_shape: Shape) -> Shape:
    """Return the shape of an operation's output, with the channel axis of a grey image that Keras lacks."""
    is_grey = len(shapes) == 1 and shapes[0] == (*keras_shape, 1) and type(operation).__name__ in _KEEPS_AXES
    return shapes[0] if is_grey else keras_shape


def _is_grey(operation: Any, shape: Shape) -> bool:
    """Return whether all readers of a tensor (height, width) treat it as an image without a channel axis."""
    return bool(operation._outbound_nodes) and all(_reads_grey(node, shape) for node in operation._outbound_nodes)


def _reads_grey(node: Any, shape: Shape) -> bool:
    operation, output_shape = node.operation, tuple(node.output_tensors[0].shape[1:])
    kind = type(operation).__name__
    if getattr(operation, "inputs", None) and hasattr(operation, "layers"):  # a nested model
        return all(_is_grey(tensor._keras_history.operation, shape) for tensor in operation.inputs)
    if kind in ("Reshape", "ExpandDims"):
        return output_shape == (*shape, 1) or len(output_shape) == 1
    if kind not in _KEEPS_AXES or output_shape != shape:
        return kind == "Flatten"
    arguments = (*node.arguments.args, *node.arguments.kwargs.values())
    constants = [value for value in arguments if not hasattr(value, "_keras_history")] if kind in _OF_NUMBERS else []
    own = [getattr(operation, name, None) for name in ("mean", "scale", "offset")]
    numbers = [value for value in (*constants, *own) if value is not None]
    plain = all(math.prod(getattr(value, "shape", np.shape(value))) == 1 for value in numbers)
    return plain and len(node.input_tensors) == 1 and _is_grey(operation, shape)
