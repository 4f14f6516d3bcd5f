"""What a person says of a model's inputs and outputs, and how nodes take it on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from glsl_infer import ops
from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.node import SEEN
from glsl_infer.graph.picture import FITS, PICTURE_CHANNELS, is_picture, with_picture_range
from glsl_infer.graph.purposes import PURPOSES
from glsl_infer.support.near_names import did_you_mean

Range = tuple[float, float]
"""(value that byte 0 stands for, value that byte 255 stands for) of a picture; (lowest, highest) of numbers."""

NO_PICTURE = "none"
"""The fit of an input that takes numbers, though a picture could have its shape."""

RAW_BYTES_SCALE = 1.0 / 32.0
"""A model that first scales its input by this or less expects bytes: Rescaling(1/255), (1/127.5, -1), 1/57.1 ..."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Ends:
    """What is known of inputs and outputs besides the model.

    The empty name stands for the only picture of a model, or else its only input; or for its only output.

    Attributes:
        ranges: what the bytes of a picture stand for, or between which numbers are, by the input's name.
        fits: how any picture becomes the network's, by the input's name: the first word of one of ``FITS``, or all of
            it; ``none`` makes the input one of numbers.
        purposes: what an output is for, by its name.
        sizes: (height, width) of inputs that a file leaves open, by their names.
        shapes: all sizes of an input with its batch, as the file has its axes, by its name; they replace those of the
            file.
        constants: values of inputs that become constants, by their names: one number, or as many as the input has.
        outputs: names of the tensors that are to be outputs; none: those of the file.
    """

    ranges: Mapping[str, Range] = field(default_factory=dict)
    fits: Mapping[str, str] = field(default_factory=dict)
    purposes: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)


def input_attrs(shape: Shape) -> dict[str, Any]:
    """Return the attributes of the input that a map of ``shape`` is: a picture, or numbers without a range."""
    return {"shape": shape} if shape[2] in PICTURE_CHANNELS else numbers_map(shape)


def numbers_map(shape: Shape) -> dict[str, Any]:
    """Return the attributes of an input map of numbers whose range is not known yet."""
    return {"shape": shape, "fit": None, "scales": None, "zeros": None}


def with_ends(graph: Graph, ends: Ends) -> Graph:
    """Return a graph whose inputs have their fits and ranges, and its outputs their purposes.

    Raises:
        InputError: a name, a fit, a range or a purpose that is none.
    """
    pictures = [node.name for node in graph.inputs if is_picture(node)]
    names = [node.name for node in graph.inputs]
    fits = by_name("--fit", ends.fits, names, pictures)
    if ends.outputs:
        graph = _with_outputs(graph, ends.outputs)
    graph = graph.rebuilt([_with_fit(node, fits.get(node.name)) for node in graph.nodes])
    pictures = [node.name for node in graph.inputs if is_picture(node)]
    ranges = by_name("--input-range", ends.ranges, names, pictures)
    graph = graph.rebuilt([_with_range(graph, node, ranges.get(node.name)) for node in graph.nodes])
    purposes = by_name("--purpose", ends.purposes, [output.name for output in graph.outputs], [])
    for name, purpose in purposes.items():
        if purpose not in PURPOSES:
            raise InputError(f"--purpose {name}={purpose}; choose one of {', '.join(PURPOSES)}")
    outputs = [replace(output, purpose=purposes.get(output.name, output.purpose)) for output in graph.outputs]
    return Graph(graph.name, graph.nodes, outputs)


def of_file(graph: Graph, spans: Mapping[str, Range]) -> dict[str, Range]:
    """Return what a quantised file says of inputs, where it says it.

    A file whose types all reach as far below 0 as above gives that range to a ReLU's result, too, and to a picture
    from 0 on: of a picture it tells the highest number alone. Black is 0 then, as in files that say nothing.
    """
    positive = [node for node in graph.nodes if node.op == "activation" and node.activation.low >= 0.0]
    one_range = any(SEEN in node.attrs and _symmetric(node.attrs[SEEN]) for node in positive)
    pictures = {node.name for node in graph.inputs if is_picture(node)}
    names = {node.name for node in graph.inputs}
    return {
        name: (0.0, span[1]) if one_range and name in pictures and _symmetric(span) else span
        for name, span in spans.items()
        if name in names
    }


def _symmetric(span: Range) -> bool:
    """Return whether a range reaches as far below 0 as above, but for a step of 8 bits."""
    return span[1] > 0.0 and -span[1] * 130.0 / 128.0 <= span[0] <= -span[1]


def _with_outputs(graph: Graph, wanted: Iterable[str]) -> Graph:
    """Return a graph with some of its outputs, and without what only the others need."""
    known = {output.name: output for output in graph.outputs}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise InputError(
            f"--outputs {missing[0]}: the model has no such output{did_you_mean(missing[0], known)}; it has "
            f"{', '.join(known)}"
        )
    outputs = [known[name] for name in wanted]
    read = {layer for output in outputs for layer in output.layers}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in read:
            read.update(node.inputs)
            kept.append(node)
    return Graph(graph.name, reversed(kept), outputs)


def by_name(
    option: str, given: Mapping[str, Value], names: Iterable[str], first: Sequence[str] = ()
) -> dict[str, Value]:
    """Return what was given with whole names; ``first`` are those that an empty name may stand for before others.

    Raises:
        InputError: a name that none of these is, or an empty one for several.
    """
    names, chosen = list(names), {}
    for name, value in given.items():
        whole = name
        if not name:
            candidates = first if len(first) == 1 else names
            if len(candidates) != 1:
                raise InputError(f"{option} {value}: the model has {', '.join(names)}; give {option} NAME={value}")
            (whole,) = candidates
        if whole not in names:
            raise InputError(
                f"{option} {name}={value}: the model has no such name{did_you_mean(name, names)}; it has "
                f"{', '.join(names)}"
            )
        chosen[whole] = value
    return chosen


def _with_fit(node: Node, given: str | None) -> Node:
    if given is None:
        return node
    if node.op != "input":
        raise InputError(f"--fit {node.name}={given}: the input takes a vector of numbers; leave it out")
    if given == NO_PICTURE:
        return replace(node, attrs=numbers_map(node.attrs["shape"]))
    fits = [fit for fit in FITS if given in (fit, fit.partition("/")[0])]
    if not fits:
        known = ", ".join(fit.partition("/")[0] for fit in FITS)
        raise InputError(f"--fit {node.name}={given}; choose one of {known}, {NO_PICTURE}")
    return replace(node, attrs={"shape": node.attrs["shape"], "fit": fits[0]})


def _with_range(graph: Graph, node: Node, given: Range | None) -> Node:
    """Return an input node with what its numbers stand for, and any other node as it is."""
    if not node.operator.is_input:
        return node
    if given is not None and (not all(map(math.isfinite, given)) or given[0] == given[1]):
        raise InputError(f"an input_range of {given}; give two different numbers, for byte 0 and for byte 255")
    if is_picture(node):
        low, high = (0.0, 255.0 if _expects_bytes(graph, node) else 1.0) if given is None else given
        return with_picture_range(node, (float(high - low),), (-255.0 * low / (high - low) if low else 0.0,))
    if given is None:
        return node
    low, high = sorted(map(float, given))
    if node.op != "input":
        return node.with_attrs(low=low, high=high)
    scale, zero = _covering(low, high)
    return node.with_attrs(scales=(scale,), zeros=(zero,))


def _covering(low: float, high: float) -> tuple[float, float]:
    """Return (scale, zero) of bytes that reach from low to high; where 0 lies between them a byte stands for it."""
    zero = -255.0 * low / (high - low)
    if not 0.0 <= zero <= 255.0:
        return high - low, zero
    zero = float(round(zero))
    steps = [high / (255.0 - zero)] if zero < 255.0 else []
    steps += [-low / zero] if zero > 0.0 else []
    return 255.0 * max(steps), zero


def _expects_bytes(graph: Graph, node: Node) -> bool:
    """Return whether rescaling that alone reads the picture, in one layer or several, makes small numbers of it.

    Resizes, cuts, pools and other layers that keep its numbers may lie before and between.
    """
    scale, rescaled = 1.0, False
    while len(readers := graph.consumers[node.name]) == 1:
        (node,) = readers
        operator = ops.get(node.op)
        affine = operator.affine(node) if not node.weights else None  # of batch norm's weights nobody asks for bytes
        if affine is not None:
            scale, rescaled = scale * float(np.abs(affine[0]).max()), True
            continue
        keeps = operator.keeps_range or node.op == "resample"  # which keeps all but what overshoots
        if not keeps and not operator.is_identity(node, graph.shapes[node.inputs[0]]):
            break
    return rescaled and scale <= RAW_BYTES_SCALE
