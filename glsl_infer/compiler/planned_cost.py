"""Cost of a frame of a prepared graph, planned without shader source and without calibration images.

The number of draws is the program's. Instructions times pixels are estimated by ``weights_plan`` and ``other_work``.

The search for maps to keep in 16 bits needs the cost of dozens of graphs that differ in a few layers: those whose bits
change, and their readers. ``Plans`` plans all others once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from glsl_infer import ops
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.typical import Typical
from glsl_infer.lowering.weights_plan import Cost
from glsl_infer.program import Texture
from glsl_infer.program.layout import Value, textures_of

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class _Layer:
    """Contribution of a layer to a plan.

    Attributes:
        value: location of its output.
        place: index of the output's value and textures; equal ones have the same index.
        textures, file_names: its entries in ``Allocation``.
        work, counted: work and draws of a convolution; None for other layers.
        drawn: layer names of its draws.
        late: layer names of the draws to append when the next layer is drawn.
        weights: references to the weights, to prevent the reuse of their ids.
    """

    value: Value
    place: int
    textures: Mapping[str, Texture]
    file_names: Mapping[str, str]
    work: float | None
    counted: int | None
    drawn: tuple[str, ...]
    late: tuple[str, ...]
    weights: tuple[object, ...]


class Plans:
    """Plans of prepared graphs, with a cache of layers from one graph to the next.

    Args:
        given: whether there are calibration images, for which weights are rounded.
        uniform_vectors: the longest uniform array, in vec4.
        layout: see ``lower.to_program``.
        weight_bits: see ``lower.to_program``.
        draw_cost: microseconds of a draw; see ``lower.to_program``.

    Attributes:
        layers: number of layers planned so far, without those taken from the cache.
    """

    def __init__(
        self,
        *,
        given: bool,
        uniform_vectors: int,
        layout: str = "atlas",
        weight_bits: str = "auto",
        draw_cost: float = weights_plan.DRAW,
    ) -> None:
        self.layers = 0
        self._given, self._uniform_vectors, self._layout = given, uniform_vectors, layout
        self._weight_bits, self._draw_cost = weight_bits, draw_cost
        self._known: dict[Hashable, _Layer] = {}
        self._places: dict[Hashable, int] = {}

    def __call__(self, graph: Graph) -> Cost:
        """Return the cost of a graph with ranges, bits and scales.

        Raises:
            ModelError: a layer without a shader, by name.
        """
        plan = _Plan(
            graph,
            "auto",
            {},
            self._layout,
            gutters(graph),
            {},
            Typical(dict, given=self._given),
            self._uniform_vectors,
            planning=True,
            counts=True,
            weight_bits=self._weight_bits,
            bits={name: chosen.bits for name, chosen in ranges_of(graph).items()},
            draw_cost=self._draw_cost,
        )
        for node in graph.nodes:
            key = plan.key(node)
            if key not in self._known:
                self.layers += 1
                self._known[key] = plan.planned(node, self._places)
            plan.add(node, self._known[key])
        return plan.whole


def planned(graph: Graph, **options: Any) -> Cost:
    """Return the cost of a single graph; arguments as for ``Plans``."""
    return Plans(**options)(graph)


class _Plan(Builder):
    """Builder of a program of which only the cost is used."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._placed: dict[str, int] = {}
        self._drawn: list[str] = []
        self._late: tuple[str, ...] = ()

    def key(self, node: Node) -> Hashable:
        """Return everything that a layer's plan depends on, except for the common options of all plans."""
        weights = tuple(id(node.weights[name]) for name in sorted(node.weights))
        attrs = tuple((name, _fixed(node.attrs[name])) for name in node.operator.attrs)
        inputs = tuple((self._placed[name], has_alpha_lane(self.graph.by_name[name])) for name in node.inputs)
        around = self._gutters[node.name], self._bits.get(node.name), bool(self.graph.consumers[node.name])
        return node.name, node.op, weights, attrs, inputs, around, self.spares

    def planned(self, node: Node, places: dict[Hashable, int]) -> _Layer:
        """Plan a layer.

        Raises:
            ModelError: the layer has no shader.
        """
        kept = len(self._textures), len(self._file_names)
        try:
            ops.get(node.op).passes(node, self)
        except ModelError as refusal:
            refusal.refused = node.name
            raise
        drawn = [entry.layer for entry in self._passes]
        self._append_second_halves()
        late = [entry.layer for entry in self._passes[len(drawn) :]]
        self._passes, self._insert_at = [], {}
        value = self.values[node.name]
        lies = value, tuple(self._textures[name] for name in textures_of(value))
        return _Layer(
            value,
            places.setdefault(lies, len(places)),
            _last(self._textures, kept[0]),
            _last(self._file_names, kept[1]),
            self._work.get(node.name),
            self._counted_draws.get(node.name),
            tuple(drawn),
            tuple(late),
            tuple(node.weights.values()),
        )

    def add(self, node: Node, layer: _Layer) -> None:
        """Add a planned layer to the plan."""
        self.values[node.name], self._placed[node.name] = layer.value, layer.place
        self._textures.update(layer.textures)
        self._file_names.update(layer.file_names)
        if layer.work is not None and layer.counted is not None:
            self._work[node.name], self._counted_draws[node.name] = layer.work, layer.counted
        if layer.drawn:
            self._drawn += [*self._late, *layer.drawn]
            self._late = layer.late

    @property
    def whole(self) -> Cost:
        """Cost of all layers so far."""
        return self._cost(self._drawn)


def _fixed(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def _last(entries: Mapping[str, Kept], before: int) -> dict[str, Kept]:
    """Return all entries after the first ``before``, newest first."""
    return dict(islice(reversed(entries.items()), len(entries) - before))  # type: ignore[call-overload]
