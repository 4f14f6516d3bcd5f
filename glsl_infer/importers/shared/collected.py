"""The nodes that an importer has made so far: unique names, shapes, and what cannot be exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.importers.shared import caps
from glsl_infer.importers.shared.verdict import LayerVerdict, guess


class Collected:
    """The nodes so far, in topological order, with unique names and their shapes, and what cannot be exported.

    Attributes:
        rows: what is said of each layer, by its name.
        refusals: of layers.
        guessed: inputs that stand for refused layers.
        unknown: refused layers for which no input can stand, and all behind them.
    """

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self.rows: dict[str, LayerVerdict] = {}
        self.refusals: list[ModelError] = []
        self.guessed: set[str] = set()
        self.unknown: set[str] = set()
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        self._weights = caps.Weights("the model")

    def free_name(self, wanted: str) -> str:
        """Take the name, or with ``~1``, ``~2`` ... behind it when it is taken: a layer may be called often."""
        name = wanted
        while name in self._taken:
            self._next[wanted] = self._next.get(wanted, 0) + 1
            name = f"{wanted}~{self._next[wanted]}"
        self._taken.add(name)
        return name

    def refuse(self, refusal: ModelError, name: str, inputs: tuple[str, ...], shape: Sequence[int | None]) -> str:
        """Remember a layer that cannot be exported, and go on behind it with the shape that the file gives it."""
        self.refusals.append(refusal)
        return self.stand_in(name, shape)

    def stand_in(self, name: str, shape: Sequence[int | None]) -> str:
        """Add an input that stands for an output of a refused layer; return its name."""
        known = tuple(size for size in shape if size is not None)
        attrs = guess(known) if len(known) == len(shape) else None
        if attrs is None:
            self.unknown.add(name)
        else:
            self.nodes.append(Node(name, "input" if len(known) == 3 else "input_fixed", (), attrs))
            self.guessed.add(name)
            self.shapes[name] = known
        return name

    def refused(self, *more: ModelError) -> ModelError:
        """Return one error for all refusals."""
        return ModelError("\n  ".join(str(refusal) for refusal in (*self.refusals, *more)))

    def add(self, nodes: Sequence[Node]) -> str:
        """Add the nodes of one layer, the first of which has its name already; return the name of the last."""
        for given in nodes:
            caps.check_finite(given.name, given.weights)
            self._weights.add(sum(array.nbytes for array in given.weights.values()), given.name)
        before, renamed = len(self.nodes), {nodes[0].name: nodes[0].name}
        try:
            for given in nodes:
                name = renamed[given.name] = renamed.get(given.name) or self.free_name(given.name)
                node = replace(given, name=name, inputs=tuple(renamed.get(read, read) for read in given.inputs))
                # Our own shapes, not those of the file: a Keras model inside another may know its sizes as None only.
                self.shapes[name] = ops.get(node.op).shape(node, [self.shapes[read] for read in node.inputs])
                self.nodes.append(node)
        except ModelError:
            del self.nodes[before:]  # an input may stand for the layer as a whole
            raise
        return renamed[nodes[-1].name]
