"""The inputs of a file -> input nodes: pictures, maps of numbers, vectors."""

from __future__ import annotations

import math

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.graph.picture import PICTURE_CHANNELS
from glsl_infer.importers.onnx.model import Declared, Model, Operator, Sizes
from glsl_infer.importers.onnx.nodes import MOST_NUMBERS
from glsl_infer.importers.onnx.view import View, fresh
from glsl_infer.importers.shared.collected import Collected
from glsl_infer.importers.shared.ends import input_attrs
from glsl_infer.importers.shared.verdict import SHADER, LayerVerdict

_TYPES = ("float32", "float16", "float64", "uint8", "int8")
_OF_MAPS = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization", "QLinearConv",
            "InstanceNormalization", "ConvTranspose", "ConvInteger"}  # fmt: skip
"""Operators that read channels first."""

_TO_CHANNELS_FIRST = (0, 3, 1, 2)

_MOST_AXES = 8


def input_view(declared: Declared, model: Model, sizes: dict[str, tuple[int, int]], collected: Collected) -> View:
    """Add the node of an input, and return its tensor.

    Args:
        declared: what the file says of it.
        model: the file.
        sizes: (height, width) of inputs whose size is free, by their names; empty name: of the only such input.
        collected: the nodes so far.

    Raises:
        ModelError: it has another type, several pictures, too many axes, or a size that nobody knows.
    """
    name = declared.name[:96]
    if declared.type not in _TYPES:
        raise ModelError.layer(name, f"an input of type {declared.type}", "inputs of float, int8 or uint8 are read")
    if declared.shape is None:
        raise ModelError.layer(name, "an input of unknown shape", "export the model with a shape")
    last = _is_channels_last(declared, model)
    shape = _known(name, declared.shape, sizes, channels_last=last)
    if math.prod(shape) > MOST_NUMBERS or len(shape) > 4 or (len(shape) > 2 and shape[0] != 1):
        raise ModelError.layer(
            name,
            f"an input of shape {shape}",
            "a network for one picture at a time, with inputs of up to 4 axes, can be exported",
        )
    ours, order = _placed(shape, channels_last=last)
    if _is_grey(declared, shape, model):
        ours, order = (*shape[1:], 1), (1, 2)
    free = collected.free_name(name)
    node = (
        Node(free, "input", (), input_attrs(ours)) if len(ours) == 3 else Node(free, "input_fixed", (), {"shape": ours})
    )
    collected.add([node])
    collected.rows[free] = LayerVerdict(free, "input", ours, SHADER, (node.op,))
    return fresh(free, shape, order)


def _placed(shape: tuple[int, ...], *, channels_last: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of an input node, and the order in which it has the file's axes."""
    order: tuple[int, ...]
    if len(shape) == 4:
        order = (1, 2, 3) if channels_last else (2, 3, 1)
        return tuple(shape[axis] for axis in order), order
    if len(shape) == 3:
        order = (1, 2) if channels_last else (2, 1)
        return (1, *(shape[axis] for axis in order)), order
    return (math.prod(shape),), tuple(range(len(shape)))


def _known(name: str, shape: Sizes, sizes: dict[str, tuple[int, int]], *, channels_last: bool) -> tuple[int, ...]:
    """Return a shape with a batch of 1, and the height and width that were asked for."""
    known = [1 if size is None and not axis and len(shape) > 1 else size for axis, size in enumerate(shape)]
    places = (1, 2) if channels_last else (2, 3)
    own = name if name in sizes else ""
    if own in sizes and len(shape) == 4:
        for axis, size in zip(places, sizes[own]):
            if known[axis] not in (None, size):
                raise ModelError.layer(
                    name,
                    f"--input-size {sizes[own][0]}x{sizes[own][1]} for a fixed shape of {tuple(known)}",
                    "leave it out",
                )
            known[axis] = size
    if None in known:
        shown = ", ".join("?" if size is None else str(size) for size in known)
        free = [axis for axis, size in enumerate(known) if size is None]
        advice = (
            "give --input-size" if len(shape) == 4 and set(free) <= set(places) else "export the model with a shape"
        )
        raise ModelError.layer(name, f"an input of shape ({shown}), with sizes that the file leaves open", advice)
    return tuple(size for size in known if size is not None)


def _is_channels_last(declared: Declared, model: Model) -> bool:
    """Return whether a file's input is (batch, height, width, channels), as converters of TensorFlow write it."""
    shape = declared.shape or ()
    read = [operator for operator in model.part.operators if declared.name in operator.inputs]
    if any(operator.kind in _OF_MAPS for operator in read):
        return False
    if len(shape) != 4:
        return True
    if read and all(operator.attributes.get("perm") == _TO_CHANNELS_FIRST for operator in read):
        return True
    if any(_splits_channels(operator, shape, model) for operator in read):
        return False
    return shape[1] not in PICTURE_CHANNELS and shape[3] in PICTURE_CHANNELS


def _is_grey(declared: Declared, shape: tuple[int, ...], model: Model) -> bool:
    """Return whether an input (batch, height, width) is a picture: all that reads it adds channels, or makes a row."""
    readers = [operator for operator in model.part.operators if declared.name in operator.inputs]
    readers = [operator for operator in readers if operator.kind != "Shape"]
    return len(shape) == 3 and bool(readers) and all(_reads_grey(operator, shape, model) for operator in readers)


def _reads_grey(operator: Operator, shape: tuple[int, ...], model: Model) -> bool:
    if operator.kind != "Reshape" or len(operator.inputs) < 2:
        return operator.kind == "Unsqueeze" or (operator.kind == "Flatten" and operator.attributes.get("axis", 1) == 1)
    _, *target = _stored(operator.inputs[1], model) or (0,)
    height, width = shape[1:]
    return target in ([-1], [height * width], [1, height, width], [height, width, 1])


def _splits_channels(operator: Operator, shape: Sizes, model: Model) -> bool:
    """Return whether an operator makes several axes of the second one and leaves those behind it as they are."""
    if operator.kind != "Reshape" or None in shape:
        return False
    target = _stored(operator.inputs[1], model) if len(operator.inputs) > 1 else ()
    return len(target) > 4 and target[0] == shape[0] and target[-2:] == shape[2:]


def _stored(name: str, model: Model) -> Shape:
    """Return the few whole numbers of a constant of the file, or nothing."""
    makers = (operator for operator in model.part.operators if name in operator.outputs)
    written = next((made.attributes["value"] for made in makers if "value" in made.attributes), None)
    read = model.part.constants.get(name, written)
    numbers = np.zeros(0) if read is None else np.asarray(read()).reshape(-1)
    return tuple(int(number) for number in numbers) if 0 < len(numbers) <= _MOST_AXES else ()
