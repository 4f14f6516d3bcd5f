"""Merging neighbours of a graph: what several optimisation steps are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Optional

from glsl_infer.compiler.optimize.draft import Draft
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.node import SEEN

Merge = Callable[[Mapping[str, Shape], Node, Node], Optional[Node]]
"""From all shapes, a node, and one of its inputs that nothing else reads: the node that replaces both, or None."""


def absorb(graph: Graph, merge: Merge, *, keep_first_name: bool) -> Graph:
    """Merge neighbours until ``merge`` finds no more.

    What it returns stands in the later one's place, under the earlier one's name if ``keep_first_name``.
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
    """Merge a node with one that it reads, and return whether that could be done."""
    for before in (draft.by_name[name] for name in reversed(node.inputs)):
        merged = merge(draft.shapes, node, before) if draft.read_once(before.name) else None
        if merged is not None:
            draft.put((before, node), (merged,), merged.name if keep_first_name else node.name)
            return True
    return False


def fused(node: Node, absorbed: Node) -> Node:
    """Return ``node`` with the name of a node that it now computes as well noted in its attribute ``fused``.

    Of what the file says of values only what it says of the node that was taken in holds on.
    """
    attrs = {key: value for key, value in node.attrs.items() if key != SEEN}
    if SEEN in absorbed.attrs:
        attrs[SEEN] = absorbed.attrs[SEEN]
    return replace(node, attrs={**attrs, "fused": (*node.attrs.get("fused", ()), absorbed.name)})
