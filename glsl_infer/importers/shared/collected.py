"""The nodes that an importer has made so far: unique names, shapes, and what cannot be exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape


class Collected:
    """The nodes so far, in topological order, with unique names and their shapes, and what cannot be exported."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self.refusals: list[ModelError] = []
        self.guessed: set[str] = set()
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def free_name(self, wanted: str) -> str:
        """Take the name, or with ``~1``, ``~2`` ... behind it when it is taken: a layer may be called often."""
        name = wanted
        while name in self._taken:
            self._next[wanted] = self._next.get(wanted, 0) + 1
            name = f"{wanted}~{self._next[wanted]}"
        self._taken.add(name)
        return name

    def refuse(self, refusal: ModelError, name: str, inputs: tuple[str, ...], shape: Sequence[int | None]) -> str:
        """Remember a layer that cannot be exported, and go on behind it with the shape that the file gives it.

        Raises:
            ModelError: the file does not know the shape, so that nothing can be said of the layers behind it.
        """
        known = tuple(size for size in shape if size is not None)
        if len(known) != len(shape):
            raise self.refused(refusal)
        if not self.guessed & set(inputs):  # else it may be refused for what stands before it
            self.refusals.append(refusal)
        self.guessed.add(name)
        self.shapes[name] = known
        return name

    def refused(self, *more: ModelError) -> ModelError:
        """Return one error for all refusals."""
        return ModelError("\n  ".join(str(refusal) for refusal in (*self.refusals, *more)))

    def add(self, nodes: Sequence[Node]) -> str:
        """Add the nodes of one layer, the first of which has its name already; return the name of the last."""
        renamed = {nodes[0].name: nodes[0].name}
        for given in nodes:
            name = renamed[given.name] = renamed.get(given.name) or self.free_name(given.name)
            node = replace(given, name=name, inputs=tuple(renamed.get(read, read) for read in given.inputs))
            # Our own shapes, not those of the file: a Keras model inside another may know its sizes as None only.
            self.shapes[name] = ops.get(node.op).shape(node, [self.shapes[read] for read in node.inputs])
            self.nodes.append(node)
        return renamed[nodes[-1].name]
