"""Copies of outputs stored in a texture of an input.

An output must be a render target. Therefore an output layer that is an input, or a view of one, is drawn once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.program.layout import FeatureMap, FixedPoint, Value, textures_of


def passthrough_outputs(graph: Graph, values: Mapping[str, Value]) -> list[str]:
    """Return the output layers stored in a texture of an input."""
    given = {texture for node in graph.inputs for texture in textures_of(values[node.name])}
    return [layer for layer in graph.output_layers if given & set(textures_of(values[layer]))]


def with_copies(graph: Graph, layers: Sequence[str], values: Mapping[str, Value]) -> Graph:
    """Return a prepared graph with copies of some layers as outputs instead.

    Raises:
        ModelError: the values of a layer cannot be copied by a shader: a picture with a range in which no byte is 0, or
            a map in 16 bits.
    """
    names = {node.name for node in graph.nodes}
    copies: dict[str, Node] = {}
    for layer in layers:
        name, value = f"{layer}-copy", values[layer]
        while name in names:
            name += "'"
        names.add(name)
        if isinstance(value, FeatureMap) and all(zero == int(zero) for zero in value.zeros):
            copies[layer] = Node(name, "concat_copy", (layer,))
        elif isinstance(value, FixedPoint) and not value.columns:
            copies[layer] = Node(name, "vector_concat", (layer,), {"scale": value.scale})
        else:
            what = "the picture" if len(graph.inputs) == 1 else "an input"
            refusal = ModelError.layer(
                layer, f"{what} itself is the output, or part of it", "end the network in a layer that computes"
            )
            refusal.refused = layer
            raise refusal
    outputs = graph.outputs_renamed(lambda layer: copies[layer].name if layer in copies else layer)
    return Graph(graph.name, (*graph.nodes, *copies.values()), outputs)
