"""The reference: a network computed in NumPy, either in float32 or exactly as the textures store it.

``stored`` computes every layer in float64 and rounds its output to the bits that its texture holds, so that
a GPU may differ only where a value lies within its own arithmetic error of a rounding boundary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ImageError, InputError
from glsl_infer.graph.network import Graph
from glsl_infer.graph.node import Array, Node
from glsl_infer.graph.picture import picture_values

MODES = ("stored", "float")


class HasGraph(Protocol):
    """A bundle, say: whatever knows the network that it was made from."""

    @property
    def graph(self) -> Graph:
        """The network."""


GraphOrBundle = Union[Graph, HasGraph]


def run(model: GraphOrBundle, image: NDArray[np.uint8], *, mode: str | None = None) -> NDArray[np.float32]:
    """Return the output of the whole network, float32: logits (classes,), or a map (height, width, channels).

    Args:
        model: a bundle, or a graph at any step on its way to one.
        image: uint8 (size, size, 3) at the model's size.
        mode: ``stored`` or ``float``; by default ``stored`` once the graph has its ranges and scales.

    Raises:
        ImageError: the picture has the wrong shape or type.
        InputError: ``stored`` was asked of a graph without ranges and scales.
    """
    graph = as_graph(model)
    value: Array = np.empty(0)
    for name, layer in layers(graph, image, mode=mode):
        if name == graph.output:
            value = layer
    return value.astype(np.float32)


def layers(model: GraphOrBundle, image: NDArray[np.uint8], *, mode: str | None = None) -> Iterator[tuple[str, Array]]:
    """Yield (name, output) of every node but the input, in order; arguments as for ``run``."""
    graph = as_graph(model)
    mode = default_mode(graph) if mode is None else mode
    if mode not in MODES:
        raise InputError(f"mode '{mode}'; choose one of {', '.join(MODES)}")
    if mode == "stored" and default_mode(graph) == "float":
        raise InputError("the graph has no ranges and scales yet; run glsl_infer.compiler.ranges.prepare on it")
    expected = tuple(graph.input.attrs["shape"])
    if image.dtype != np.uint8 or image.shape != expected:
        raise ImageError(f"a picture of shape {image.shape}, {image.dtype}; the model reads uint8 {expected}")
    dtype = np.float32 if mode == "float" else np.float64
    values: dict[str, Array] = {}
    left = {name: len(readers) for name, readers in graph.consumers.items()}
    for node in graph.nodes:
        if node.op == "input":
            values[node.name] = picture_values(node, image).astype(dtype)
            continue
        inputs = [values[name] for name in node.inputs]
        values[node.name] = layer(node, inputs, stored=mode == "stored")
        for name in node.inputs:
            left[name] -= 1
            if not left[name]:
                values.pop(name, None)
        yield node.name, values[node.name]


def layer(node: Node, inputs: Sequence[Array], *, stored: bool) -> Array:
    """Return the output of one node for given inputs, rounded to its texture's bits when ``stored``."""
    operator = node.operator
    exact = operator.reference(node, inputs)
    return operator.store(node, exact) if stored else exact


def default_mode(graph: Graph) -> str:
    """Return ``stored`` when every output has its range in 8 bits or its scale in 16, else ``float``."""
    unsplit = any(not node.operator.has_shader for node in graph.nodes)
    unset = any(
        node.attrs[key] is None
        for node in graph.nodes
        for key in ("scale", "scales", "zeros")
        if key in node.operator.attrs
    )
    return "float" if unsplit or unset else "stored"


def as_graph(model: GraphOrBundle) -> Graph:
    """Return the graph of a bundle, or the graph itself."""
    return model if isinstance(model, Graph) else model.graph
