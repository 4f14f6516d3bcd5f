"""Tensors between parts: their values for calibration images, and the ranges in which they are uploaded."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler.ranges.intervals import covering_range
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.host_steps import PROBABLE
from glsl_infer.graph.reference import Inputs
from glsl_infer.ops.on_cpu import KernelOperator
from glsl_infer.program.layout import Range

Values = Mapping[str, NDArray[Any]]


def values_of(graph: Graph, names: Collection[str], images: Sequence[Inputs]) -> list[Values]:
    """Return the values of some nodes for each calibration image, computed in floats; inputs are returned unchanged."""
    input_names = {node.name for node in graph.inputs}
    collected: list[Values] = []
    for image in images:
        values = {name: value for name, value in reference.by_name(graph, image).items() if name in names}
        if set(names) - input_names:
            for name, value in reference.all_values(graph, image, mode="float", names=names):
                if name in names and name not in input_names:
                    values[name] = value
        collected.append(values)
    return collected


def input_node(graph: Graph, name: str, stored_ranges: Mapping[str, Range], *, calibrated: bool) -> Node:
    """Return the input of a GPU part for a tensor of another part: in 8 bits, or in 16 bits for a vector.

    Args:
        graph: the entire graph.
        name: name of the node with the tensor.
        stored_ranges: ranges of maps stored by earlier GPU parts. An upload in the same range loses nothing.
        calibrated: whether there are calibration images to learn a range from.

    Raises:
        ModelError: the range is unknown and cannot be learnt.
    """
    node, shape = graph.by_name[name], graph.shapes[name]
    if node.operator.is_input:
        return node
    bounds = _bounds(graph, name, calibrated=calibrated)
    if name not in stored_ranges and bounds is None and not calibrated:
        raise ModelError.layer(
            name,
            "its values go from the CPU to the GPU, and their range is unknown",
            "give --images DIR with typical images",
        )
    if len(shape) == 1:
        low, high = bounds or (None, None)
        return Node(name, "input_fixed", (), {"shape": shape, "low": low, "high": high})
    input_range = stored_ranges.get(name)
    if input_range is None and bounds is not None:
        lowest, highest = (np.asarray([bound]) for bound in bounds)
        input_range = covering_range(lowest, highest, common=True, equal=True, headroom=1.0)
    scales, zeros = (None, None) if input_range is None else (input_range.scales, input_range.zeros)
    return Node(name, "input", (), {"shape": shape, "fit": None, "scales": scales, "zeros": zeros})


def _bounds(graph: Graph, name: str, *, calibrated: bool) -> tuple[float, float] | None:
    """Return the lowest and the highest possible value of a node, or None if its operator does not imply them.

    The function of a recurrent layer is a bound only without calibration images: its values are often far smaller. The
    cells of an LSTM have no bound.
    """
    node = graph.by_name[name]
    operator = ops.get(node.op)
    is_unit = isinstance(operator, KernelOperator) and operator.kernel.range == "unit"
    if is_unit or operator.host_step(node) in PROBABLE:
        return 0.0, 1.0
    if (
        operator.keeps_range
        or operator.only_reshapes
        or (isinstance(operator, KernelOperator) and operator.kernel.range == "kept")
    ):
        if isinstance(operator, KernelOperator) and node.weights:
            return None  # The values may be those of a constant.
        sources = node.inputs[:1] if isinstance(operator, KernelOperator) else node.inputs
        source_bounds = {_bounds(graph, source, calibrated=calibrated) for source in sources}
        return source_bounds.pop() if len(source_bounds) == 1 else None
    function = node.activation
    is_recurrent = isinstance(operator, KernelOperator) and bool(node.weights)
    if is_recurrent and (calibrated or node.attrs.get("cells")):
        return None
    if {"activation", "function"} & set(node.attrs) and function.bounded:
        return float(function.low), float(function.high)
    return None
