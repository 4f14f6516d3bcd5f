"""The float network on typical pictures, with any of its feature maps rounded: how far that moves the outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from glsl_infer.graph import Array, Graph, Node, host_steps, reference
from glsl_infer.graph.reference import Inputs
from glsl_infer.program.layout import Range


class Runs:
    """Pictures' ways through the float network, of which any part can be run anew with rounding."""

    def __init__(self, graph: Graph, pictures: Sequence[Inputs], ranges: Sequence[Mapping[str, Range]]) -> None:
        self._graph = graph
        self._ranges = ranges
        self._values = [dict(reference.all_values(graph, picture, mode="float")) for picture in pictures]
        self._probable = {
            layer
            for output in graph.outputs
            if any(step.step == host_steps.SIGMOID for step in output.steps)
            for layer in output.layers
        }
        self._spreads = {layer: self._spread(layer) for layer in graph.output_layers}

    def error(
        self, bits: Mapping[str, int], *, alone: bool = False, replaced: Mapping[str, Node] = MappingProxyType({})
    ) -> float:
        """Return the error of the outputs where maps are rounded to some bits; with ``alone`` those named only.

        ``replaced`` are layers that have other weights.
        """
        squares = [
            self._square(values, bits, ranges, replaced, alone=alone)
            for values, ranges in zip(self._values, self._ranges)
        ]
        return math.sqrt(sum(squares) / len(squares))

    def _spread(self, layer: str) -> float:
        """Return the variance of an output over its places and the pictures.

        Of one that is almost the same everywhere, a flag say, it is a hundredth of its mean square at least.
        """
        numbers = np.stack([self._shown(layer, values[layer]) for values in self._values])
        return max(float(numbers.var()), 0.01 * float((numbers**2).mean()), 1e-12)

    def _shown(self, layer: str, numbers: Array) -> Array:
        """Return what an output shows of a layer: the probabilities, where each number becomes one."""
        exact = np.asarray(numbers, np.float64)
        return host_steps.sigmoid(exact) if layer in self._probable else exact

    def _square(
        self,
        values: Mapping[str, Array],
        bits: Mapping[str, int],
        ranges: Mapping[str, Range],
        replaced: Mapping[str, Node],
        *,
        alone: bool,
    ) -> float:
        changed: dict[str, Array] = {}
        for node in self._graph.nodes:
            stores = node.name in bits and (not alone or bits[node.name])
            moved = node.name in replaced or any(name in changed for name in node.inputs)
            if not (stores or moved):
                continue
            value = values[node.name]
            if moved:
                given = [changed.get(name, values[name]) for name in node.inputs]
                value = reference.layer(replaced.get(node.name, node), given, stored=False)
            if stores and "bits" in node.attrs and value.ndim == 3:
                rounded = node.with_attrs(bits=bits[node.name])
                if bits[node.name] == 8 and node.name in ranges:
                    rounded = rounded.with_attrs(scales=ranges[node.name].scales, zeros=ranges[node.name].zeros)
                value = np.asarray(node.operator.store(rounded, value), value.dtype)
            changed[node.name] = value
        shares = []
        for layer in self._graph.output_layers:
            off = self._shown(layer, changed.get(layer, values[layer])) - self._shown(layer, values[layer])
            shares.append(float((off**2).mean()) / self._spreads[layer])
        return sum(shares) / len(shares)
