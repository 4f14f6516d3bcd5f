"""Ranges set before those of layers: of inputs that are not pictures, and the finite padding of maximum poolings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges import observed
from glsl_infer.compiler.ranges.constraints import constraints
from glsl_infer.compiler.ranges.intervals import HEADROOM, LARGEST, covering_range
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.graph.reference import Inputs
from glsl_infer.program import quantize
from glsl_infer.program.layout import Range


def assign_input_ranges(graph: Graph, images: Sequence[Inputs] = ()) -> Graph:
    """Set the range of every input that is not a picture: as declared, or else as observed in the images.

    Args:
        graph: an optimised graph.
        images: calibration inputs; see ``reference.run``.

    Raises:
        ModelError: a range is not declared, and images to learn it from are missing.
    """
    _, equal = constraints(graph)
    return graph.rebuilt([_with_range(graph, node, images, node.name in equal) for node in graph.nodes])


def open_inputs(graph: Graph) -> list[Node]:
    """Return the inputs without a declared range."""
    return [
        node for node in graph.inputs if any(node.attrs[key] is None for key in ("scales", "low") if key in node.attrs)
    ]


def open_refusal(node: Node) -> ModelError:
    """Return the error about an input with an unknown range."""
    return ModelError.layer(
        node.name,
        "the range of its numbers is not known",
        f"give --input-range {node.name}=LOW,HIGH, or typical numbers with --images FILE.npz",
    )


def _with_range(graph: Graph, node: Node, images: Sequence[Inputs], equal: bool) -> Node:
    """Return an open input with the range or scale of its values on calibration images; other nodes unchanged."""
    if not node.operator.is_input:
        return node
    if node in open_inputs(graph):
        low, high = _seen(graph, node, images)
        if "scales" in node.attrs:
            learnt = covering_range(low, high, common=True, equal=equal)
            return node.with_attrs(scales=learnt.scales, zeros=learnt.zeros)
        node = node.with_attrs(low=HEADROOM * min(float(low.min()), 0.0), high=HEADROOM * max(float(high.max()), 0.0))
    if "scale" in node.attrs:
        largest = max(abs(node.attrs["low"]), abs(node.attrs["high"]))
        return node.with_attrs(scale=quantize.power_of_two_scale(largest))
    return node


def _seen(graph: Graph, node: Node, images: Sequence[Inputs]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest value for each index of the last axis."""
    if not images:
        raise open_refusal(node)
    values = [input_values(node, reference.by_name(graph, image)[node.name]) for image in images]
    rows = np.concatenate([np.asarray(value, np.float64).reshape(-1, value.shape[-1]) for value in values])
    if not (np.abs(rows) <= LARGEST).all():
        advice = f"give smaller ones, such as -1e4 in a mask, or the range: --input-range {node.name}=LOW,HIGH"
        raise ModelError.layer(node.name, f"calibration values that are infinite or beyond {LARGEST:g}", advice)
    return rows.min(axis=0), rows.max(axis=0)


LOWEST = -1e29
"""Padding of this value or a lower one represents minus infinity, as for a dilated maximum pooling."""


def with_lowest(
    graph: Graph,
    images: Sequence[Inputs],
    known: Mapping[str, Range],
    assumed: tuple[float, float] | None,
) -> Graph:
    """Return a graph whose padding for maxima is the lowest value of the padded map, or 0 if that is lower.

    If the range of a map included minus infinity, no steps would remain for its own values.

    Args:
        graph: an optimised graph.
        images: calibration inputs, as for ``reference.run``.
        known: ranges of layers from an earlier calibration.
        assumed: without images, the (low, high) of open ranges.

    Raises:
        ModelError: the lowest value is unknown.
    """
    padded = {
        node.name: node for node in graph.nodes if node.op == "constant_padding" and node.attrs["value"] <= LOWEST
    }
    if not padded:
        return graph
    lowest = {name: _declared_lowest(graph, node, known) for name, node in padded.items()}
    read = {node.inputs[0] for node in padded.values()}
    observed_lows = {name: float(low.min()) for name, (low, _) in observed.extremes(graph, read, images).items()}
    nodes = []
    for node in graph.nodes:
        if node.name not in padded:
            nodes.append(node)
            continue
        value = lowest[node.name]
        if value is None and images:
            value = HEADROOM * min(observed_lows[node.inputs[0]], 0.0)
        elif value is None and assumed is not None:
            value = min(assumed[0], 0.0)
        elif value is None:
            raise ModelError.layer(
                node.name,
                "the lowest number of its map, with which a dilated maximum pooling pads, is not known",
                "give typical images with --images DIR",
            )
        nodes.append(node.with_attrs(value=value))
    return Graph(graph.name, nodes, graph.outputs)


def _declared_lowest(graph: Graph, node: Node, known: Mapping[str, Range]) -> float | None:
    """Return the lowest value of a padded map by an earlier calibration, or of an input; None for other maps."""
    if node.name in known:
        return float(min(known[node.name].ends(graph.shapes[node.name][-1])[0]))
    source = graph.by_name[node.inputs[0]]
    if not source.operator.is_input:
        return None
    low, _ = Range(source.attrs["scales"], source.attrs["zeros"]).ends(graph.shapes[source.name][-1])
    return float(min(low.min(), 0.0))
