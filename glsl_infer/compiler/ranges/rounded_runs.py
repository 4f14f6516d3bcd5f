"""Runs of the float network on calibration images with rounded feature maps, and the resulting error of the outputs."""

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
from glsl_infer.support.parallel import parallel_map


class Runs:
    """Float runs for images, which can be repeated with rounding.

    Only one image's maps are kept at a time, because those of large networks take hundreds of megabytes.

    Args:
        graph: a graph with ranges.
        pictures: inputs of the network.
        ranges: for each image, replacements of the graph's ranges.
        changes: layers to change one at a time: rounded to 8 bits (None), or computed by another node.

    Attributes:
        errors: error of the outputs for each change of ``changes`` alone.
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

            for name, found in zip(changes, parallel_map(alone, changes)):
                squares[name].append(found)
        self._spreads = self._judge.spreads(self._shown)
        self.errors = {name: shown_error.error(found, self._spreads) for name, found in squares.items()}

    def error(self, bits: Mapping[str, int]) -> float:
        """Return the error of the outputs if all maps are rounded to their ``bits``."""
        squares = list(parallel_map(partial(self._whole, bits), range(len(self._pictures))))
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
        """Return the squared errors of the outputs if layers are rounded or replaced.

        Args:
            values: exact outputs of the layers; with ``anew``, those of the inputs.
            exact: exact values of the graph's outputs.
            bits: bits to which layers are rounded, by name.
            ranges: replacements of the graph's ranges.
            replaced: replacements of nodes, by name.
            anew: compute all layers, not only those after a change.
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
        """Return a layer's output rounded to its ``bits``, or unchanged if it has none."""
        if node.name not in bits or "bits" not in node.attrs or value.ndim != 3:
            return value
        rounded = node.with_attrs(bits=bits[node.name])
        if node.name in ranges.maps:
            eight, wider = ranges.maps[node.name], ranges.wider[node.name]
            own = eight if bits[node.name] == 8 else roomy(node, wider, self._ends[node.name])
            rounded = rounded.with_attrs(scales=own.scales, zeros=own.zeros)
        return np.asarray(node.operator.store(rounded, value), value.dtype)
