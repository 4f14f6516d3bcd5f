"""Cost of a frame of a prepared graph, planned without shader source and without calibration images.

The number of draws is the program's. Instructions times pixels are estimated by ``frame_cost``.

The search for maps to keep in 16 bits needs the cost of dozens of graphs that differ in a few layers: those whose bits
change, and their readers. ``Plans`` plans all others once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from glsl_infer import ops
from glsl_infer.compiler.lower import storage_of
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.lowering.allocation import Allocated, Storage
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.frame_cost import frame_cost
from glsl_infer.lowering.target import Target
from glsl_infer.lowering.weights_plan import Cost, LayerWeights


@dataclass(frozen=True)
class LayerPlan:
    """Contribution of a layer to a plan.

    Attributes:
        allocated: its allocation.
        location: index of the location of its output; equal ones have the same index.
        convolution: (work, draws) of a convolution; None for other layers.
        drawn: layer names of its draws; none for a convolution.
        second_halves: layer names of the draws to append when the next layer is drawn.
        layer_weights: properties of its weights, if it has a choice of modes.
        weights: references to the weights, to prevent the reuse of their ids.
    """

    allocated: Allocated
    location: int
    convolution: tuple[float, int] | None
    drawn: tuple[str, ...]
    second_halves: tuple[str, ...]
    layer_weights: LayerWeights | None
    weights: tuple[object, ...]


class Plans:
    """Plans of prepared graphs, with a cache of layers from one graph to the next.

    Args:
        target: options of code generation; weights are those of ``auto``.
        calibrated: whether there are calibration images, for which weights are rounded.

    Attributes:
        layers: number of layers planned so far, without those taken from the cache.
    """

    def __init__(self, target: Target, *, calibrated: bool) -> None:
        self.layers = 0
        self._target, self._calibrated = replace(target, weights="auto", weights_for={}), calibrated
        self._cache: dict[Hashable, LayerPlan] = {}
        self._locations: dict[Hashable, int] = {}

    def __call__(self, graph: Graph) -> Cost:
        """Return the cost of a graph with ranges, bits and scales.

        Raises:
            ModelError: a layer without a shader, by name.
        """
        storage = storage_of(graph)
        return cost_of(graph, storage, self._plan(graph, storage))

    def layer_weights(self, graph: Graph) -> list[LayerWeights]:
        """Return the properties of the weights of each layer with a choice of modes; arguments as for a call."""
        plans = self._plan(graph, storage_of(graph)).values()
        return [layer.layer_weights for layer in plans if layer.layer_weights is not None]

    def _plan(self, graph: Graph, storage: Storage) -> dict[str, LayerPlan]:
        """Return the plans of all layers."""
        plan = dict[str, LayerPlan]()
        maps = CalibrationMaps(dict, has_images=self._calibrated)
        builder = Builder(graph, self._target, storage, maps, planning=True)
        for node in graph.nodes:
            key = (*_key(graph, node, storage, plan), builder.tolerates_rounding)
            if key not in self._cache:
                self.layers += 1
                self._cache[key] = self._planned(node, builder)
            plan[node.name] = self._cache[key]
            builder.adopt(node, plan[node.name].allocated)
        builder.offers.clear()  # their functions refer to the builder and to packed weights: a cycle
        return plan

    def _planned(self, node: Node, builder: Builder) -> LayerPlan:
        """Plan a layer with a builder of the layers before it.

        Raises:
            ModelError: the layer has no shader.
        """
        extent, first = builder.extent, len(builder.passes)
        try:
            ops.get(node.op).passes(node, builder)
        except ModelError as refusal:
            refusal.refused = node.name
            raise
        second = len(builder.passes)
        builder.append_second_halves()
        layers = [entry.layer for entry in builder.passes[first:] if entry.layer not in builder.convolutions]
        allocated = builder.allocated(node, extent)
        return LayerPlan(
            allocated,
            self._locations.setdefault(allocated.location, len(self._locations)),
            builder.convolutions.get(node.name),
            tuple(layers[: second - first]),
            tuple(layers[second - first :]),
            builder.layer_weights.get(node.name),
            tuple(node.weights.values()),
        )


def planned(graph: Graph, target: Target | None = None, *, calibrated: bool) -> Cost:
    """Return the cost of a single graph; arguments as for ``Plans``."""
    return Plans(target or Target(), calibrated=calibrated)(graph)


def cost_of(graph: Graph, storage: Storage, plan: Mapping[str, LayerPlan]) -> Cost:
    """Return the cost of planned layers, as of a program to which the last second halves are not yet appended."""
    drawn, waiting = list[str](), tuple[str, ...]()
    for layer in plan.values():
        if layer.drawn:
            drawn += [*waiting, *layer.drawn]
            waiting = layer.second_halves
    convolutions = {name: layer.convolution for name, layer in plan.items() if layer.convolution is not None}
    return frame_cost(graph, storage.bits, convolutions, drawn)


def _key(graph: Graph, node: Node, storage: Storage, plan: Mapping[str, LayerPlan]) -> tuple[Hashable, ...]:
    """Return everything that a layer's plan depends on, except for the common options of all plans."""
    weights = tuple(id(node.weights[name]) for name in sorted(node.weights))
    attrs = tuple((name, _hashable(node.attrs[name])) for name in node.operator.attrs)
    inputs = tuple((plan[name].location, has_alpha_lane(graph.by_name[name])) for name in node.inputs)
    stored_as = storage.gutters[node.name], storage.bits.get(node.name), bool(graph.consumers[node.name])
    return node.name, node.op, weights, attrs, inputs, stored_as


def _hashable(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value
