"""User options for a model's inputs and outputs, their application to a graph, and the attributes of inputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from glsl_infer import ops
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.graph.picture import FITS, PICTURE_CHANNELS, is_picture, with_picture_range
from glsl_infer.graph.purposes import PURPOSES
from glsl_infer.program.layout import MAX_TEXTURE_SIZE
from glsl_infer.support.near_names import choices, did_you_mean

Range = tuple[float, float]
"""(value of byte 0, value of byte 255) for an image input; (lowest, highest) value for any other input."""

NO_PICTURE = "none"
"""The fit for a non-image input whose shape could also be that of an image."""

RAW_BYTES_SCALE = 1.0 / 32.0
"""Largest first scale of a model that expects bytes: Rescaling(1/255), (1/127.5, -1), 1/57.1 ..."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class IoOptions:
    """Options for inputs and outputs, in addition to the model file.

    An empty name selects the only image input of a model, or else its only input; or its only output.

    Attributes:
        ranges: values of byte 0 and byte 255 of an image, or the value range of another input, by the input's name.
        fits: conversion of any image to the network's input, by the input's name: one of ``FITS``, or its first word.
            With ``none`` the input is not an image.
        purposes: purpose of an output, by its name.
        sizes: (height, width) of inputs whose sizes a file leaves open, by name.
        shapes: the shape of an input with its batch, in the axis order of the file, by name. It replaces the shape in
            the file.
        constants: values of inputs that become constants, by name: one value, or as many as the input has elements.
        outputs: names of the tensors to return as outputs. Empty: the outputs of the file.
    """

    ranges: Mapping[str, Range] = field(default_factory=dict)
    fits: Mapping[str, str] = field(default_factory=dict)
    purposes: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)


def input_attrs(shape: Shape) -> dict[str, Any]:
    """Return the attributes of an input map of ``shape``: an image, or a map without a range."""
    return {"shape": shape} if shape[2] in PICTURE_CHANNELS else numbers_map(shape)


def numbers_map(shape: Shape) -> dict[str, Any]:
    """Return the attributes of a non-image input map without a range yet."""
    return {"shape": shape, "fit": None, "scales": None, "zeros": None}


def with_io_options(graph: Graph, io_options: IoOptions) -> Graph:
    """Return a graph with the fits and ranges of its inputs and the purposes of its outputs.

    Raises:
        InputError: a name, a fit, a range or a purpose is not valid.
    """
    pictures = [node.name for node in graph.inputs if is_picture(node)]
    names = [node.name for node in graph.inputs]
    fits = by_name("--fit", io_options.fits, names, pictures)
    if io_options.outputs:
        graph = _with_outputs(graph, io_options.outputs)
    graph = graph.rebuilt([_with_fit(node, fits.get(node.name)) for node in graph.nodes])
    pictures = [node.name for node in graph.inputs if is_picture(node)]
    ranges = by_name("--input-range", io_options.ranges, names, pictures)
    graph = graph.rebuilt([_with_range(graph, node, ranges.get(node.name)) for node in graph.nodes])
    purposes = by_name("--purpose", io_options.purposes, [output.name for output in graph.outputs], [])
    for name, purpose in purposes.items():
        if purpose not in PURPOSES:
            meant = did_you_mean(purpose, PURPOSES)
            raise InputError(f"--purpose {name}={purpose}{meant}; choose one of {', '.join(PURPOSES)}")
    outputs = [replace(output, purpose=purposes.get(output.name, output.purpose)) for output in graph.outputs]
    return Graph(graph.name, graph.nodes, outputs)


def with_file_ranges(
    options: IoOptions, graph: Graph, input_range: Range | None, file_ranges: Mapping[str, Range]
) -> IoOptions:
    """Return the options with the input ranges of a quantised file, unless the user gives the ranges.

    Args:
        options: options of the user.
        graph: the graph of the file.
        input_range: the user's range of the only input.
        file_ranges: ranges in the file, by the names of inputs.
    """
    ranges = dict(options.ranges) if input_range is None else {"": input_range, **options.ranges}
    if "" not in ranges:
        ranges = {**_of_file(graph, file_ranges), **ranges}
    return replace(options, ranges=ranges)


def _of_file(graph: Graph, spans: Mapping[str, Range]) -> dict[str, Range]:
    """Return the input ranges of a quantised file, for its inputs with a range.

    In a file whose ranges are all symmetric around 0, the ranges of ReLU outputs and of images from 0 on are symmetric,
    too. For an image only the upper bound is then valid. The lower bound becomes 0, as in files without ranges.
    """
    positive = [node for node in graph.nodes if node.op == "activation" and node.activation.low >= 0.0]
    one_range = any(OBSERVED_RANGE in node.attrs and _symmetric(node.attrs[OBSERVED_RANGE]) for node in positive)
    pictures = {node.name for node in graph.inputs if is_picture(node)}
    names = {node.name for node in graph.inputs}
    return {
        name: (0.0, span[1]) if one_range and name in pictures and _symmetric(span) else span
        for name, span in spans.items()
        if name in names
    }


def _symmetric(span: Range) -> bool:
    """Return whether a range is symmetric around 0, except for one step of 8 bits."""
    return span[1] > 0.0 and -span[1] * 130.0 / 128.0 <= span[0] <= -span[1]


def _with_outputs(graph: Graph, names: Iterable[str]) -> Graph:
    """Return a graph with only the ``names`` outputs and the nodes that they need."""
    by_name = {output.name: output for output in graph.outputs}
    for name in names:
        require_name(f"--outputs {name}", "output", name, by_name)
    outputs = [by_name[name] for name in names]
    read = {layer for output in outputs for layer in output.layers}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in read:
            read.update(node.inputs)
            nodes.append(node)
    return Graph(graph.name, reversed(nodes), outputs)


def require_name(option: str, kind: str, name: str, names: Collection[str]) -> None:
    """Raise an InputError about an option for a name that is not one of ``names``. ``kind`` is, for example, input."""
    if name not in names:
        meant = did_you_mean(name, names)
        raise InputError(f"{option}: the model has no such {kind}{meant}; it has {choices(names)}")


def require_inputs(sizes: Iterable[str], names: Sequence[str]) -> None:
    """Raise an InputError if ``--input-size`` is given for an unknown input. An empty name is for any input."""
    for name in filter(None, sizes):
        require_name(f"--input-size {name}", "input", name, names)


def by_name(
    option: str, values: Mapping[str, Value], names: Iterable[str], first: Sequence[str] = ()
) -> dict[str, Value]:
    """Return options by complete names. An empty name selects the only entry of ``first``, or else of ``names``.

    Raises:
        InputError: a name is not one of ``names``, or an empty name has several candidates.
    """
    names, chosen = list(names), {}
    for name, value in values.items():
        full_name = name
        if not name:
            candidates = first if len(first) == 1 else names
            if len(candidates) != 1:
                raise InputError(f"{option} {value}: the model has {', '.join(names)}; give {option} NAME={value}")
            (full_name,) = candidates
        require_name(f"{option} {name}={value}", "name", full_name, names)
        chosen[full_name] = value
    return chosen


def _with_fit(node: Node, fit: str | None) -> Node:
    if fit is None:
        return node
    if node.op != "input":
        raise InputError(f"--fit {node.name}={fit}: the input takes a vector of numbers; leave it out")
    if fit == NO_PICTURE:
        return replace(node, attrs=numbers_map(node.attrs["shape"]))
    fits = [choice for choice in FITS if fit in (choice, choice.partition("/")[0])]
    if not fits:
        words = [*(choice.partition("/")[0] for choice in FITS), NO_PICTURE]
        raise InputError(f"--fit {node.name}={fit}{did_you_mean(fit, words)}; choose one of {', '.join(words)}")
    return replace(node, attrs={"shape": node.attrs["shape"], "fit": fits[0]})


def _with_range(graph: Graph, node: Node, input_range: Range | None) -> Node:
    """Return an input node with its range, and any other node unchanged."""
    if not node.operator.is_input:
        return node
    if input_range is not None and (not all(map(math.isfinite, input_range)) or input_range[0] == input_range[1]):
        raise InputError(f"an input_range of {input_range}; give two different numbers, for byte 0 and for byte 255")
    if is_picture(node):
        low, high = (0.0, 255.0 if _expects_bytes(graph, node) else 1.0) if input_range is None else input_range
        return with_picture_range(node, (float(high - low),), (-255.0 * low / (high - low) if low else 0.0,))
    if input_range is None:
        return node
    low, high = sorted(map(float, input_range))
    if node.op != "input":
        return node.with_attrs(low=low, high=high)
    scale, zero = _covering(low, high)
    return node.with_attrs(scales=(scale,), zeros=(zero,))


def _covering(low: float, high: float) -> tuple[float, float]:
    """Return (scale, zero) of bytes that cover low to high. A byte represents 0 exactly if 0 is in the range."""
    zero = -255.0 * low / (high - low)
    if not 0.0 <= zero <= 255.0:
        return high - low, zero
    zero = float(round(zero))
    steps = [high / (255.0 - zero)] if zero < 255.0 else []
    steps += [-low / zero] if zero > 0.0 else []
    return 255.0 * max(steps), zero


def _expects_bytes(graph: Graph, node: Node) -> bool:
    """Return whether the only reader of the image is a rescaling, in one layer or several, to small values.

    Layers that keep the values, such as resizes, crops and pools, may precede the rescaling or come between its layers.
    """
    scale, rescaled = 1.0, False
    while len(readers := graph.consumers[node.name]) == 1:
        (node,) = readers
        operator = ops.get(node.op)
        affine = operator.affine(node) if not node.weights else None  # weights of batch norm do not indicate bytes
        if affine is not None:
            scale, rescaled = scale * float(np.abs(affine[0]).max()), True
            continue
        keeps = operator.keeps_range or node.op == "resample"  # resample keeps the range apart from overshoot
        if not keeps and not operator.is_identity(node, graph.shapes[node.inputs[0]]):
            break
    return rescaled and scale <= RAW_BYTES_SCALE


LONGEST_VECTOR = 2 * MAX_TEXTURE_SIZE
"""Largest number of elements of a vector in one row of a texture."""


def in_rows(shape: Shape) -> Shape:
    """Return (rows, columns, channels) for a line (1, length, channels) or (length,) that does not fit a texture.

    The elements keep their order. Any other shape is returned unchanged, as is a length without suitable factors.
    """
    length, channels = (shape[1], shape[2]) if len(shape) == 3 and shape[0] == 1 else (shape[0], 1)
    if length != math.prod(shape[:2]) or length <= (MAX_TEXTURE_SIZE if len(shape) == 3 else LONGEST_VECTOR):
        return shape
    fewest = -(-length // MAX_TEXTURE_SIZE)
    rows = next((rows for rows in range(fewest, MAX_TEXTURE_SIZE + 1) if not length % rows), None)
    return shape if rows is None else (rows, length // rows, channels)
