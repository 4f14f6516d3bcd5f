"""Rewriting of graphs: a draft in which the cost of a change depends only on the number of nodes involved.

A ``Graph`` is immutable. A step that makes a new one for each of its n changes takes time proportional to n squared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.node import OBSERVED_RANGE


class Draft:
    """The nodes of a graph during rewriting, with their shapes, readers and positions.

    Attributes:
        by_name: the nodes.
        shapes: shapes of their outputs.
        changed: whether it differs from the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.by_name = dict(graph.by_name)
        self.shapes: dict[str, Shape] = dict(graph.shapes)
        self.changed = False
        self._graph = graph
        self._slots = [[node.name] for node in graph.nodes]
        self._slot = {node.name: slot for slot, node in enumerate(graph.nodes)}
        self._readers: dict[str, dict[str, int]] = {
            name: {reader.name: reader.inputs.count(name) for reader in readers}
            for name, readers in graph.consumers.items()
        }
        self._ends = {layer: [layer] for layer in graph.output_layers}

    def __len__(self) -> int:
        """Return the number of positions, equal to the number of the graph's nodes."""
        return len(self._slots)

    def at(self, slot: int) -> tuple[Node, ...]:
        """Return the current nodes of a position."""
        return tuple(self.by_name[name] for name in self._slots[slot])

    def unread(self, name: str) -> bool:
        """Return whether a node has no readers and is not an output."""
        return not self._readers[name] and name not in self._ends

    def read_once(self, name: str) -> bool:
        """Return whether a node has exactly one reader, which reads it once, and is not an output."""
        return name not in self._ends and list(self._readers[name].values()) == [1]

    def put(self, old: Sequence[Node], new: Sequence[Node], result: str) -> None:
        """Replace nodes by others; the readers of the last replaced node read ``result`` from now on.

        Raises:
            ModelError: shapes do not fit together.
        """
        last, slot = old[-1].name, self._slot[old[-1].name]
        shape, readers = self.shapes[last], self._readers.pop(last)
        for node in reversed(old):
            self.remove(node)
        for node in new:
            self._add(node, slot)
        for name, count in readers.items():
            inputs = tuple(result if read == last else read for read in self.by_name[name].inputs)
            self.by_name[name] = replace(self.by_name[name], inputs=inputs)
            self._readers[result][name] = self._readers[result].get(name, 0) + count
        if result != last and last in self._ends:
            self._ends.setdefault(result, []).extend(self._ends.pop(last))
        if self.shapes[result] != shape:
            self._reshaped(result)

    def remove(self, node: Node) -> None:
        """Remove a node without readers."""
        self.changed = True
        self._slots[self._slot.pop(node.name)].remove(node.name)
        del self.by_name[node.name], self.shapes[node.name]
        self._readers.pop(node.name, None)
        for name in node.inputs:
            self._readers.get(name, {}).pop(node.name, None)

    def graph(self) -> Graph:
        """Return the rewritten graph."""
        if not self.changed:
            return self._graph
        renamed = {layer: name for name, layers in self._ends.items() for layer in layers}
        nodes = [self.by_name[name] for names in self._slots for name in names]
        return Graph(self._graph.name, nodes, self._graph.outputs_renamed(renamed.__getitem__))

    def _add(self, node: Node, slot: int) -> None:
        complete = replace(node, attrs={**node.operator.attrs, **node.attrs})
        self.by_name[node.name] = complete
        self.shapes[node.name] = node.operator.shape(complete, [self.shapes[name] for name in node.inputs])
        self._slots[slot].append(node.name)
        self._slot[node.name] = slot
        self._readers[node.name] = {}
        for name in node.inputs:
            self._readers[name][node.name] = self._readers[name].get(node.name, 0) + 1

    def _reshaped(self, name: str) -> None:
        """Infer the shapes of nodes after one with a changed shape."""
        waiting = list(self._readers[name])
        while waiting:
            node = self.by_name[waiting.pop()]
            shape = node.operator.shape(node, [self.shapes[read] for read in node.inputs])
            if shape != self.shapes[node.name]:
                self.shapes[node.name] = shape
                waiting += self._readers[node.name]


def rewrite_each(graph: Graph, rewrite: Callable[[Draft, Node], None], *, last_first: bool = False) -> Graph:
    """Call ``rewrite`` with a draft and each node, in order or from the last one on, and return the changed graph."""
    draft = Draft(graph)
    for slot in reversed(range(len(draft))) if last_first else range(len(draft)):
        for node in draft.at(slot):
            rewrite(draft, node)
    return draft.graph()


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
    for producer in (draft.by_name[name] for name in reversed(node.inputs)):
        merged = merge(draft.shapes, node, producer) if draft.read_once(producer.name) else None
        if merged is not None:
            draft.put((producer, node), (merged,), merged.name if keep_first_name else node.name)
            return True
    return False


def fused(node: Node, absorbed: Node) -> Node:
    """Return ``node`` with the name of an absorbed node added to its attribute ``fused``.

    The observed range from the model file is taken from the absorbed node, because it is the later one.
    """
    attrs = {key: value for key, value in node.attrs.items() if key != OBSERVED_RANGE}
    if OBSERVED_RANGE in absorbed.attrs:
        attrs[OBSERVED_RANGE] = absorbed.attrs[OBSERVED_RANGE]
    return replace(node, attrs={**attrs, "fused": (*node.attrs.get("fused", ()), absorbed.name)})
