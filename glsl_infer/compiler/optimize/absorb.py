"""Merging of neighbouring nodes, the basis of several optimisation steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Optional

from glsl_infer.compiler.optimize.draft import Draft
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.node import SEEN

Merge = Callable[[Mapping[str, Shape], Node, Node], Optional[Node]]
"""Function of all shapes, a node, and one of its inputs without other readers; returns a node for both, or None."""


def absorb(graph: Graph, merge: Merge, *, keep_first_name: bool) -> Graph:
    """Merge neighbours until ``merge`` returns None for all pairs.

    A merged node takes the position of the later node, and the name of the earlier one if ``keep_first_name``.
    """
    draft = Draft(graph)
    changed = True
    while changed:
        changed = False
        for slot in range(len(draft)):
            while any(_merged(draft, node, merge, keep_first_name) for node in draft.at(slot)):
                changed = True
    return draft.graph()


def _merged(draft: Draft, node: Node, merge: Merge, keep_first_name: bool) -> bool:
    """Merge a node with one of its inputs, and return whether it was possible."""
    for before in (draft.by_name[name] for name in reversed(node.inputs)):
        merged = merge(draft.shapes, node, before) if draft.read_once(before.name) else None
        if merged is not None:
            draft.put((before, node), (merged,), merged.name if keep_first_name else node.name)
            return True
    return False


def fused(node: Node, absorbed: Node) -> Node:
    """Return ``node`` with the name of an absorbed node added to its attribute ``fused``.

    The observed range from the model file is taken from the absorbed node, because it is the later one.
    """
    attrs = {key: value for key, value in node.attrs.items() if key != SEEN}
    if SEEN in absorbed.attrs:
        attrs[SEEN] = absorbed.attrs[SEEN]
    return replace(node, attrs={**attrs, "fused": (*node.attrs.get("fused", ()), absorbed.name)})
