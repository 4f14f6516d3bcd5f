"""Lowering of a prepared graph to a program.

Every operator appends its textures, shaders and passes to a ``Builder``. The graph is lowered once to plan weights and
memory, without shaders of convolutions, and once with the shared textures of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.compiler import exact_weights, sharing
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.exact_weights import FinerWeights
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.ranges import Calibration
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.allocation import Storage
from glsl_infer.lowering.builder import Builder
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from glsl_infer.lowering.weights_plan import LayerWeights
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program import CompiledNetwork
from glsl_infer.program.layout import FeatureMap, FixedPoint, Value, textures_of
from glsl_infer.support.near_names import choices, did_you_mean


def to_program(
    graph: Graph,
    target: Target | None = None,
    calibration: Calibration | None = None,
    *,
    maps: CalibrationMaps | None = None,
    finer: FinerWeights | None = None,
    progress: Callable[[str], object] = str,
) -> CompiledNetwork:
    """Turn a prepared graph into textures, shaders and passes.

    Args:
        graph: a prepared graph, as ``ranges.prepare`` returns it.
        target: options of code generation; default: ``Target()``.
        calibration: calibration images, for shaders of devices with truncated sums (``calibration_maps``), and the
            data and weights of more than 8 bits of an earlier calibration; default: none.
        maps: calibration maps of this graph from an earlier program with other shared textures.
        finer: spend the remaining budget on weights of more than 8 bits; None: do not.
        progress: called with a progress message for each layer.

    Raises:
        ModelError: a layer without a shader, by name.
        InputError: an unknown weights mode, layout or memory method; ``weights_for`` a layer without a choice of
            modes, or with an unsupported mode.
    """
    target, calibration = target or Target(), calibration or Calibration()
    maps = maps or maps_of(graph, calibration)
    exact: Collection[str] = calibration.known.exact
    plan = planned(graph, target, maps, exact, progress)
    _require_layers(target.weights_for, plan.layer_weights)
    layer_weights = plan.layer_weights
    if finer is not None and calibration.images and plan.offers:
        chosen = exact_weights.choose(graph, plan, calibration.images, finer, progress)
        layer_weights = {**layer_weights, **{name: plan.offers[name].finer for name in chosen}}
        exact = sorted({*exact, *chosen})
        maps.forget(chosen)
    plan.offers.clear()  # their functions refer to the plan and to packed weights: a cycle
    passthrough = _passthrough_outputs(graph, plan.values)
    if passthrough:
        copied = _with_copies(graph, passthrough, plan.values)
        exact_known = replace(calibration.known, exact=tuple(exact))
        return to_program(copied, target, replace(calibration, known=exact_known), progress=progress)
    target = _with_enough_arrays(target, layer_weights.values())
    shares, uses = sharing.plan(plan.finish(), plan.grids, target.memory)
    del plan  # It can have a copy of all weights.
    storage = replace(storage_of(graph), shares=shares)
    return replace(lowered(Builder(graph, target, storage, maps, exact), progress).finish(), memory=uses)


def planned(
    graph: Graph,
    target: Target,
    maps: CalibrationMaps,
    exact: Collection[str] = (),
    progress: Callable[[str], object] = str,
) -> Builder:
    """Return the plan of a program; arguments and errors as for ``to_program`` and ``Builder``."""
    target.require_known_modes()
    storage = storage_of(graph)
    _require_a_gutter_of_zeros(graph, storage.gutters)
    return lowered(Builder(graph, target, storage, maps, exact, planning=True), progress)


def require_lowerable(graph: Graph, target: Target) -> None:
    """Raise the error of the first layer of a prepared graph that cannot be lowered."""
    values = planned(graph, target, CalibrationMaps(dict)).values
    passthrough = _passthrough_outputs(graph, values)
    if passthrough:
        planned(_with_copies(graph, passthrough, values), target, CalibrationMaps(dict))


def _require_layers(weights_for: Mapping[str, str], layers: Collection[str]) -> None:
    for name in weights_for:
        if name not in layers:
            meant = did_you_mean(name, layers)
            raise InputError(f"no layer '{name}' has weights to choose for{meant}; there are: {choices(layers)}")


def _with_enough_arrays(target: Target, layers: Collection[LayerWeights]) -> Target:
    """Return the target with uniform arrays long enough that the constants of all shaders do not exceed the limit."""
    if target.weights != "auto":
        return target
    longer = weights_plan.longer_array(map(target.choice, layers), target.uniform_vectors)
    return target if longer is None else _with_enough_arrays(replace(target, uniform_vectors=longer), layers)


def maps_of(graph: Graph, calibration: Calibration) -> CalibrationMaps:
    """Return the calibration maps of a prepared graph, computed when the first layer needs them."""
    images, stored = calibration.images, calibration.known.calibration_data
    return CalibrationMaps(lambda: compute_maps(graph, images), has_images=len(images) > 0, stored=stored)


def storage_of(graph: Graph) -> Storage:
    """Return the gutters and bits of a prepared graph's maps, without shared textures."""
    return Storage(gutters(graph), {name: chosen.bits for name, chosen in ranges_of(graph).items()})


def lowered(builder: Builder, progress: Callable[[str], object] = str) -> Builder:
    """Return a builder to which every node of its graph has appended its passes."""
    nodes = builder.graph.nodes
    for position, node in enumerate(nodes, 1):
        progress(f"{'memory' if builder.planning else 'shaders'}: layer {position} of {len(nodes)}, {node.name}")
        try:
            ops.get(node.op).passes(node, builder)
        except ModelError as refusal:
            refusal.refused = node.name
            raise
    return builder


def _require_a_gutter_of_zeros(graph: Graph, needed: Mapping[str, int]) -> None:
    """Refuse padding around a view of a picture if byte 0, which its gutter holds, is not the value 0."""
    pictures = [node for node in graph.inputs if has_alpha_lane(node) and any(node.attrs["zeros"])]
    for reader in (reader for picture in pictures for reader in graph.consumers[picture.name]):
        if isinstance(ops.get(reader.op), ViewOperator) and needed[reader.name]:
            raise ModelError.layer(
                reader.name,
                "padding around it and the image in it, of which byte 0 is not the value 0",
                "let a 1x1 convolution of the image come first, or take the image over [0, 1]",
            )


def _passthrough_outputs(graph: Graph, values: Mapping[str, Value]) -> list[str]:
    """Return the output layers stored in a texture of an input."""
    of_inputs = {texture for node in graph.inputs for texture in textures_of(values[node.name])}
    return [layer for layer in graph.output_layers if of_inputs & set(textures_of(values[layer]))]


def _with_copies(graph: Graph, layers: Sequence[str], values: Mapping[str, Value]) -> Graph:
    """Return a prepared graph with copies of some layers as outputs instead, because an output must be a render target.

    Raises:
        ModelError: the values of a layer cannot be copied by a shader: a picture with a range in which no byte is 0, or
            a map in 16 bits.
    """
    names = {node.name for node in graph.nodes}
    copies: dict[str, Node] = {}
    for layer in layers:
        name, value = f"{layer}-copy", values[layer]
        while name in names:
            name += "'"
        names.add(name)
        if isinstance(value, FeatureMap) and all(zero == int(zero) for zero in value.zeros):
            copies[layer] = Node(name, "concat_copy", (layer,))
        elif isinstance(value, FixedPoint) and not value.columns:
            copies[layer] = Node(name, "vector_concat", (layer,), {"scale": value.scale})
        else:
            subject = "the image" if len(graph.inputs) == 1 else "an input"
            refusal = ModelError.layer(
                layer, f"{subject} itself is the output, or part of it", "end the network in a layer that computes"
            )
            refusal.refused = layer
            raise refusal
    outputs = graph.outputs_renamed(lambda layer: copies[layer].name if layer in copies else layer)
    return Graph(graph.name, (*graph.nodes, *copies.values()), outputs)
