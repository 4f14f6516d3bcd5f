"""Error of an exported network by cause: stored weights, rounding steps of maps, bounds of their ranges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, Node, host_steps, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.program.layout import Range
from precision_parts.scores import Outputs

Stored = Callable[[Node, NDArray[Any]], NDArray[Any]]
"""From a layer and its values to the values stored in its texture."""

PARTS = ("drawn", "weights", "steps", "ends")
"""All causes together, then each on its own."""


def exact(node: Node, value: NDArray[Any]) -> NDArray[Any]:
    """Store a value without change."""
    return value


def in_steps(node: Node, value: NDArray[Any]) -> NDArray[Any]:
    """Round to a range's steps, also outside its bounds."""
    scales, zeros = _range(node)
    steps = 256.0 if node.attrs["bits"] == 16 else 1.0
    rounded = scales * (np.floor((value / scales * 255.0 + zeros) * steps + 0.5) / steps - zeros) / 255.0
    function = node.activation
    return np.asarray(np.clip(rounded, function.low, function.high) if function.clips else rounded)


def within_ends(node: Node, value: NDArray[Any]) -> NDArray[Any]:
    """Clip values to a range, without rounding."""
    low, high = Range(tuple(node.attrs["scales"]), tuple(node.attrs["zeros"])).ends(value.shape[-1])
    return np.clip(value, low, high)


def _range(node: Node) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.asarray(node.attrs["scales"], np.float64), np.asarray(node.attrs["zeros"], np.float64)


def outputs(graph: Graph, pictures: Sequence[NDArray[np.uint8]], stored: Stored) -> list[Outputs]:
    """Return the outputs of a prepared graph for images, with maps stored by ``stored`` and vectors unchanged."""
    return [_outputs(graph, picture, stored) for picture in pictures]


def _outputs(graph: Graph, picture: NDArray[np.uint8], stored: Stored) -> Outputs:
    inputs = reference.by_name(graph, {graph.input.name: picture})
    values: dict[str, NDArray[Any]] = {}
    for node in graph.nodes:
        if node.operator.is_input:
            values[node.name] = input_values(node, inputs[node.name]).astype(np.float32)
            continue
        value = reference.layer(node, [values[name] for name in node.inputs], stored=False)
        if value.ndim == 3 and node.attrs.get("scales") is not None and "bits" in node.attrs:
            value = np.asarray(stored(node, value), np.float32)
        values[node.name] = value
    return {end.name: host_steps.apply(end.steps, [values[layer] for layer in end.layers]) for end in graph.outputs}
