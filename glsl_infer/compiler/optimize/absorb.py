"""Merging neighbours of a graph: what several optimisation steps are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from glsl_infer.graph import Graph, Node
from glsl_infer.graph.node import SEEN


def absorb(graph: Graph, merge: Callable[[Graph, Node, Node], Node | None], *, keep_first_name: bool) -> Graph:
    """Merge neighbours until ``merge`` finds no more.

    ``merge(graph, node, before)`` gets a node and one of its inputs that nothing else reads, and returns the
    node that replaces both, or None. It stands in the later one's place, under the earlier one's name if
    ``keep_first_name``.
    """
    changed = True
    while changed:
        changed = False
        for node in graph.nodes:
            for before in (graph.by_name[name] for name in reversed(node.inputs)):
                alone = len(graph.consumers[before.name]) == 1 and before.name not in graph.output_layers
                merged = merge(graph, node, before) if alone else None
                if merged is not None:
                    nodes = [merged if other is node else other for other in graph.nodes if other is not before]
                    renamed = {node.name: merged.name} if keep_first_name else {}
                    graph = graph.rebuilt(nodes, renamed)
                    changed = True
                    break
            if changed:
                break
    return graph


def fused(node: Node, absorbed: Node) -> Node:
    """Return ``node`` with the name of a node that it now computes as well noted in its attribute ``fused``.

    Of what the file says of values only what it says of the node that was taken in holds on.
    """
    attrs = {key: value for key, value in node.attrs.items() if key != SEEN}
    if SEEN in absorbed.attrs:
        attrs[SEEN] = absorbed.attrs[SEEN]
    return replace(node, attrs={**attrs, "fused": (*node.attrs.get("fused", ()), absorbed.name)})
