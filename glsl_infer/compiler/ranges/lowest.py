"""Padding of maximum poolings with a finite lowest value, which a texture can store together with the map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.compiler.ranges import calibration
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.reference import Inputs
from glsl_infer.program.layout import Range

LOWEST = -1e29
"""Padding of this value or a lower one represents minus infinity, as for a dilated maximum pooling."""


def with_lowest(
    graph: Graph,
    pictures: Sequence[Inputs],
    known: Mapping[str, Range],
    headroom: float,
    assumed: tuple[float, float] | None,
) -> Graph:
    """Return a graph whose padding for maxima is the lowest value of the padded map, or 0 if that is lower.

    If the range of a map included minus infinity, no steps would remain for its own values.

    Args:
        graph: an optimised graph.
        pictures: calibration inputs, as for ``reference.run``.
        known: ranges of layers from an earlier calibration.
        headroom: factor from the lowest value on the images to the assumed one.
        assumed: without images, the (low, high) of open ranges.

    Raises:
        ModelError: the lowest value is unknown.
    """
    padded = [node for node in graph.nodes if node.op == "constant_padding" and node.attrs["value"] <= LOWEST]
    if not padded:
        return graph
    read = {node.inputs[0] for node in padded}
    lows = {name: float(low.min()) for name, (low, _) in calibration.extremes(graph, read, pictures).items()}

    def lowest(node: Node) -> float:
        if node.name in known:
            return float(min(known[node.name].ends(graph.shapes[node.name][-1])[0]))
        source = graph.by_name[node.inputs[0]]
        if source.operator.is_input:
            low, _ = Range(source.attrs["scales"], source.attrs["zeros"]).ends(graph.shapes[source.name][-1])
            return float(min(low.min(), 0.0))
        if pictures:
            return headroom * min(lows[node.inputs[0]], 0.0)
        if assumed is not None:
            return min(assumed[0], 0.0)
        raise ModelError.layer(
            node.name,
            "the lowest number of its map, with which a dilated maximum pooling pads, is not known",
            "give typical pictures with --images DIR",
        )

    names = {node.name for node in padded}
    nodes = [node.with_attrs(value=lowest(node)) if node.name in names else node for node in graph.nodes]
    return Graph(graph.name, nodes, graph.outputs)
