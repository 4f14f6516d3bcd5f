"""The float network on typical pictures, with any of its feature maps rounded: how far that moves the outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from glsl_infer.compiler.ranges import shown_error
from glsl_infer.compiler.ranges.held_out import Fold
from glsl_infer.compiler.ranges.reach import reach
from glsl_infer.compiler.ranges.room import roomy
from glsl_infer.compiler.ranges.shown_error import Shown, Squares
from glsl_infer.graph import Array, Graph, Node, reference
from glsl_infer.graph.picture import input_values
from glsl_infer.graph.reference import Inputs
from glsl_infer.support.side_by_side import in_order


class Runs:
    """Pictures' ways through the float network, which can be gone again with rounding.

    Only one picture's maps are kept at a time: those of large networks take hundreds of megabytes.

    Args:
        graph: with ranges.
        pictures: what the network is given.
        ranges: those that a picture has instead of the graph's.
        changes: layers that are changed one at a time: rounded to 8 bits (None), or computed by another node.

    Attributes:
        errors: of the outputs where each of ``changes`` alone is made.
    """

    def __init__(
        self,
        graph: Graph,
        pictures: Sequence[Inputs],
        ranges: Sequence[Fold],
        changes: Mapping[str, Node | None],
    ) -> None:
        self._graph, self._pictures, self._ranges = graph, pictures, ranges
        self._ends = reach(graph)
        self._judge = shown_error.Judge(graph, pictures)
        self._shown: list[Shown] = []
        squares: dict[str, list[Squares]] = {name: [] for name in changes}
        for picture, own in zip(pictures, ranges):
            values = dict(reference.all_values(graph, picture, mode="float"))
            exact = self._judge.shown(values)
            self._shown.append(exact)

            def alone(
                name: str, values: Mapping[str, Array] = values, own: Fold = own, exact: Shown = exact
            ) -> Squares:
                other = changes[name]
                replaced = {} if other is None else {name: other}
                return self._off(values, exact, {name: 8} if other is None else {}, own, replaced)

            for name, found in zip(changes, in_order(alone, changes)):
                squares[name].append(found)
        self._spreads = self._judge.spreads(self._shown)
        self.errors = {name: shown_error.error(found, self._spreads) for name, found in squares.items()}

    def error(self, bits: Mapping[str, int]) -> float:
        """Return the error of the outputs where all maps are rounded to some bits."""
        squares = list(in_order(partial(self._whole, bits), range(len(self._pictures))))
        return shown_error.error(squares, self._spreads)

    def _whole(self, bits: Mapping[str, int], index: int) -> Squares:
        given = reference.by_name(self._graph, self._pictures[index])
        start = {node.name: input_values(node, given[node.name]).astype(np.float32) for node in self._graph.inputs}
        return self._off(start, self._shown[index], bits, self._ranges[index], anew=True)

    def _off(
        self,
        values: Mapping[str, Array],
        exact: Shown,
        bits: Mapping[str, int],
        ranges: Fold,
        replaced: Mapping[str, Node] = MappingProxyType({}),
        *,
        anew: bool = False,
    ) -> Squares:
        """Return what outputs are off by where layers are rounded or replaced; with ``anew`` all are computed.

        ``values`` are what layers compute without that, of ``anew`` the inputs' alone; ``exact`` is what outputs show
        then.
        """
        ends, left = set(self._graph.output_layers), {name: len(to) for name, to in self._graph.consumers.items()}
        changed: dict[str, Array] = {}
        for node in self._graph.nodes:
            computed = (anew and not node.operator.is_input) or node.name in replaced
            moved = computed or any(name in changed for name in node.inputs)
            if node.name in bits or moved:
                if moved:
                    given = [changed[name] if name in changed else values[name] for name in node.inputs]
                    value = reference.layer(replaced.get(node.name, node), given, stored=False)
                else:
                    value = values[node.name]
                changed[node.name] = self._rounded(node, value, bits, ranges)
            for name in node.inputs:
                left[name] -= 1
                if not left[name] and name not in ends:
                    changed.pop(name, None)
        return self._judge.squares(
            exact, {layer: changed[layer] if layer in changed else values[layer] for layer in ends}
        )

    def _rounded(self, node: Node, value: Array, bits: Mapping[str, int], ranges: Fold) -> Array:
        """Return a layer's output as ``bits`` has it: rounded, or as it is."""
        if node.name not in bits or "bits" not in node.attrs or value.ndim != 3:
            return value
        rounded = node.with_attrs(bits=bits[node.name])
        if node.name in ranges.maps:
            eight, wider = ranges.maps[node.name], ranges.wider[node.name]
            own = eight if bits[node.name] == 8 else roomy(node, wider, self._ends[node.name])
            rounded = rounded.with_attrs(scales=own.scales, zeros=own.zeros)
        return np.asarray(node.operator.store(rounded, value), value.dtype)
