"""Input nodes for the inputs of a file: images, maps, vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.graph.picture import PICTURE_CHANNELS
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.io_options import in_rows, input_attrs, numbers_map
from glsl_infer.importers.core.report import SHADER, LayerStatus
from glsl_infer.importers.onnx.model import Declared, Model, Numbers, Operator, Sizes
from glsl_infer.importers.onnx.nodes import MOST_NUMBERS
from glsl_infer.importers.onnx.view import View, fresh

_TYPES = ("float32", "float16", "float64", "uint8", "int8")
_OF_MAPS = {"Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "BatchNormalization", "QLinearConv",
            "InstanceNormalization", "ConvTranspose", "ConvInteger"}  # fmt: skip
"""Operators that read channels first."""

_TO_CHANNELS_FIRST = (0, 3, 1, 2)

_MOST_AXES = 8


def agrees(shape: Shape | None, declared: Declared) -> bool:
    """Return whether the user's shape of an input matches the file's, so that other declared shapes stay valid."""
    own = declared.shape
    if shape is None or own is None or len(own) != len(shape):
        return True
    return all(size in (None, requested) for size, requested in zip(own, shape))


def constant_of(declared: Declared, constant: Any) -> Numbers:
    """Return the user's value of an input that becomes a constant.

    One value fills the entire tensor, and its open sizes become 1.

    Raises:
        ModelError: the number of values or their type does not match the input.
    """
    numbers = np.asarray(constant)
    shape = numbers.shape if declared.shape is None else tuple(size or 1 for size in declared.shape)
    dtype = np.dtype(declared.type)
    with np.errstate(all="ignore"):
        values = numbers.astype(dtype)
    if dtype.kind != "f" and (values != numbers).any():
        raise ModelError.layer(
            declared.name[:96], f"a constant of {constant}", f"give numbers of the type {declared.type}"
        )
    if numbers.size not in (1, math.prod(shape)) or math.prod(shape) > MOST_NUMBERS:
        raise ModelError.layer(
            declared.name[:96],
            f"a constant of {numbers.size} numbers for the shape {shape}",
            f"give one number, or {math.prod(shape)}",
        )
    return np.broadcast_to(values.reshape(()), shape) if numbers.size == 1 else values.reshape(shape)


def input_view(
    declared: Declared,
    model: Model,
    sizes: Mapping[str, tuple[int, int]],
    builder: GraphBuilder,
    requested_shape: Shape | None = None,
) -> View:
    """Add the node of an input, and return its tensor.

    Args:
        declared: its declaration in the file.
        model: the file.
        sizes: (height, width) of inputs with open sizes, by name; an empty name selects the only such input.
        builder: the nodes so far.
        requested_shape: the user's shape of the input, instead of the file's.

    Raises:
        ModelError: the type is not supported, the input is a batch of images, is too large, or has an unknown size.
    """
    name = declared.name[:96]
    if declared.type not in _TYPES:
        advice = f"inputs of float, int8 or uint8 are read; give its value: --constant {name}=VALUE"
        raise ModelError.layer(name, f"an input of type {declared.type}", advice)
    if requested_shape is not None:
        if declared.shape is not None and len(requested_shape) != len(declared.shape):
            what = f"--input-shape {_sides(requested_shape)} for an input of shape ({_shape_text(declared.shape)})"
            raise ModelError.layer(name, what, f"give {len(declared.shape)} sizes")
        declared = replace(declared, shape=requested_shape)
    if declared.shape is None:
        raise ModelError.layer(name, "an input of unknown shape", f"give --input-shape {name}=1x3x224x224, for example")
    channels_last = _is_channels_last(declared, model)
    shape = _complete_shape(name, declared.shape, sizes, channels_last=channels_last)
    _require_one_image(declared, shape, model)
    node_shape: Shape
    if _has_batch(shape) or len(shape) > 4:  # for example a state: its values stay in the file's order
        node_shape, order = (shape if len(shape) == 3 else (math.prod(shape),)), tuple(range(len(shape)))
        attrs = numbers_map(node_shape) if len(node_shape) == 3 else {"shape": node_shape}
    else:
        node_shape, order = _placed(shape, channels_last=channels_last)
        if _is_grey(declared, shape, model):
            node_shape, order = (*shape[1:], 1), (1, 2)
        attrs = _attrs_in_rows(node_shape)
        node_shape = attrs["shape"]
    node_name = builder.free_name(name)
    node = Node(node_name, "input" if len(node_shape) == 3 else "input_fixed", (), attrs)
    builder.add([node])
    builder.rows[node_name] = LayerStatus(node_name, "input", node_shape, SHADER, (node.op,))
    view = fresh(node_name, shape, order)
    cut = view.split_at(node_shape)
    return view if cut is None else cut[0]


def _has_batch(shape: Shape) -> bool:
    """Return whether the first axis of an input is a batch of several."""
    return len(shape) > 2 and shape[0] != 1


def _require_one_image(declared: Declared, shape: Shape, model: Model) -> None:
    """Refuse an input that is too large, or a batch of images.

    Raises:
        ModelError: see above.
    """
    name = declared.name[:96]
    if math.prod(shape) > MOST_NUMBERS:
        raise ModelError.layer(name, f"an input of shape {shape}", f"at most {MOST_NUMBERS} numbers are possible")
    has_colours = len(shape) == 4 and 3 in (shape[1], shape[3])
    if not _has_batch(shape):
        return
    if has_colours or any(operator.kind in _OF_MAPS for operator in _readers(declared, model)):
        advice = f"one image at a time can be computed; give --input-shape {name}={_sides((1, *shape[1:]))}"
        raise ModelError.layer(name, f"an input of shape {shape}", advice)


def _attrs_in_rows(shape: Shape) -> dict[str, Any]:
    """Return the attributes of an input; a long sequence is stored in several rows of a map."""
    stored = in_rows(shape)
    if len(stored) == 1:
        return {"shape": stored}
    return input_attrs(stored) if stored == shape else numbers_map(stored)


def _placed(shape: tuple[int, ...], *, channels_last: bool) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of an input node, and its order of the file's axes."""
    order: tuple[int, ...]
    if len(shape) == 4:
        order = (1, 2, 3) if channels_last else (2, 3, 1)
        return tuple(shape[axis] for axis in order), order
    if len(shape) == 3:
        order = (1, 2) if channels_last else (2, 1)
        return (1, *(shape[axis] for axis in order)), order
    return (math.prod(shape),), tuple(range(len(shape)))


def _sides(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _shape_text(shape: Sizes) -> str:
    return ", ".join("?" if size is None else str(size) for size in shape)


def _readers(declared: Declared, model: Model) -> list[Operator]:
    return [operator for operator in model.part.operators if declared.name in operator.inputs]


def _complete_shape(
    name: str, shape: Sizes, sizes: Mapping[str, tuple[int, int]], *, channels_last: bool
) -> tuple[int, ...]:
    """Return a shape with a batch of 1, and the height and width that the user gave."""
    complete = [1 if size is None and not axis and len(shape) > 1 else size for axis, size in enumerate(shape)]
    pixel_axes = (1, 2) if channels_last else (2, 3)
    pixels = sizes.get(name) or sizes.get("")
    if pixels is not None and len(shape) == 4:
        for axis, size in zip(pixel_axes, pixels):
            if complete[axis] not in (None, size):
                option = f"--input-size {pixels[0]}x{pixels[1]}"
                raise ModelError.layer(name, f"{option} for a fixed shape of {tuple(complete)}", "leave it out")
            complete[axis] = size
    if None in complete:
        free = [axis for axis, size in enumerate(complete) if size is None]
        is_picture = len(shape) == 4 and set(free) <= set(pixel_axes)
        example = "x".join("SIZE" if size is None else str(size) for size in complete)
        advice = "give --input-size" if is_picture else f"give --input-shape {name}={example}"
        raise ModelError.layer(
            name, f"an input of shape ({_shape_text(tuple(complete))}), with sizes that the file leaves open", advice
        )
    return tuple(size for size in complete if size is not None)


def _is_channels_last(declared: Declared, model: Model) -> bool:
    """Return whether an input is (batch, height, width, channels), as from converters of TensorFlow models."""
    shape = declared.shape or ()
    readers = _readers(declared, model)
    if any(operator.kind in _OF_MAPS for operator in readers):
        return False
    if len(shape) != 4:
        return True
    if readers and all(operator.attributes.get("perm") == _TO_CHANNELS_FIRST for operator in readers):
        return True
    if any(_splits_channels(operator, shape, model) for operator in readers):
        return False
    return shape[1] not in PICTURE_CHANNELS and shape[3] in PICTURE_CHANNELS


def _is_grey(declared: Declared, shape: tuple[int, ...], model: Model) -> bool:
    """Return whether an input (batch, height, width) is an image: all its readers add a channel axis or flatten it."""
    readers = [operator for operator in _readers(declared, model) if operator.kind != "Shape"]
    return len(shape) == 3 and bool(readers) and all(_reads_grey(operator, shape, model) for operator in readers)


def _reads_grey(operator: Operator, shape: tuple[int, ...], model: Model) -> bool:
    if operator.kind != "Reshape" or len(operator.inputs) < 2:
        return operator.kind == "Unsqueeze" or (operator.kind == "Flatten" and operator.attributes.get("axis", 1) == 1)
    _, *target = _constant_integers(operator.inputs[1], model) or (0,)
    height, width = shape[1:]
    return target in ([-1], [height * width], [1, height, width], [height, width, 1])


def _splits_channels(operator: Operator, shape: Sizes, model: Model) -> bool:
    """Return whether an operator splits the second axis into several and keeps the axes after it."""
    if operator.kind != "Reshape" or None in shape:
        return False
    target = _constant_integers(operator.inputs[1], model) if len(operator.inputs) > 1 else ()
    return len(target) > 4 and target[0] == shape[0] and target[-2:] == shape[2:]


def _constant_integers(name: str, model: Model) -> Shape:
    """Return the integers of a short constant of the file, or () if it is not one."""
    load = model.part.constants.get(name)
    if load is None:  # the output of a Constant
        producers = (operator for operator in model.part.operators if name in operator.outputs)
        load = next((operator.attributes["value"] for operator in producers if "value" in operator.attributes), None)
    if load is None:
        return ()
    integers = np.asarray(load()).reshape(-1)
    return tuple(int(integer) for integer in integers) if 0 < len(integers) <= _MOST_AXES else ()
