"""The error of one layer on the GPU against the exact value before rounding, in stored steps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.bundle import Bundle, manifest_json
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.ranges import Calibration, Precision, prepare
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.target import Target
from glsl_infer.lowering.weights_plan import DRAW, UNIFORM_VECTORS
from glsl_infer.program.layout import FeatureMap, SixteenBitMap
from glsl_infer.program.quantize import LIMIT_16_BITS
from glsl_infer.program.texels import in_steps, shape_of
from glsl_infer.runtime.session import Session

TOLERANCE = 0.52
"""Largest error in steps: a driver may round x.5 either way, and its float32 sums differ slightly from float64."""

PARTIAL_TOLERANCE = 2.0
"""The same for 16-bit partial sums with weights in textures (``products_texture.ROUNDING``), in 16-bit steps.

VideoCore IV truncates these sums as well: 3x5 windows over 12 slices are off by 1.5. The tolerance is a 130th of a step
of the resulting 8-bit map.
"""


def make_bundle(
    graph: Graph,
    weights: str = "auto",
    layout: str = "atlas",
    pictures: Sequence[NDArray[np.uint8]] = (),
    memory: str = "auto",
    uniform_vectors: int = UNIFORM_VECTORS,
    prepared_for: str | None = None,
    precision: str = "8",
    precision_for: Mapping[str, int] = MappingProxyType({}),
    draw_cost: float = DRAW,
) -> Bundle:
    """Return the bundle of an optimised graph, as read from its file.

    ``prepared_for`` is the layout for the choice of partial sums, if it is not ``layout``.
    """
    prepared = prepare(
        graph,
        Calibration(pictures),
        target=Target(layout=prepared_for or layout, uniform_vectors=uniform_vectors),
        precision=Precision(precision, layers=precision_for),
    ).graph
    program = lower.to_program(
        prepared,
        Target(weights=weights, layout=layout, memory=memory, uniform_vectors=uniform_vectors, draw_cost=draw_cost),
    )
    classes = classes_of(program.graph)
    bundle = to_bundle(program, [f"class {index}" for index in range(classes)])
    read = manifest_json.from_json(
        json.loads(json.dumps(manifest_json.to_json(bundle.manifest))), manifest_json.pass_table(bundle.manifest)
    )
    return Bundle(read, bundle.members)


def exact_steps(bundle: Bundle, node: Node, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """Return the float64 output before rounding, in steps of its texture (saturated like a store)."""
    exact = ops.get(node.op).reference(node, [np.asarray(values, np.float64) for values in inputs])
    value = bundle.values[node.name]
    low, high = (0, 255) if isinstance(value, FeatureMap) else (-32768, 32767)
    if isinstance(value, SixteenBitMap):
        low, high = 0, LIMIT_16_BITS
    return np.clip(in_steps(exact, value), low, high)


def gpu_steps(session: Session, name: str, inputs: Sequence[NDArray[np.floating]]) -> NDArray[np.float64]:
    """Return the GPU's stored values of a layer, in the same steps."""
    return np.rint(in_steps(session.run_layer(name, inputs), session.bundle.values[name]))


def layer_error(session: Session, name: str, inputs: Sequence[NDArray[np.floating]]) -> float:
    """Return the largest error of one layer of a session, in steps."""
    values = gpu_steps(session, name, inputs)
    expected = exact_steps(session.bundle, session.bundle.graph.by_name[name], inputs)
    assert values.shape == expected.shape
    return float(np.abs(values - expected).max())


def allowed(bundle: Bundle, name: str) -> float:
    """Return the largest allowed error of a layer, in steps."""
    node = bundle.graph.by_name[name]
    textured = node.op == "convolution_products" and any(
        member.startswith(f"weights/{name}.") and member.endswith(".rgba") for member in bundle.members
    )
    return PARTIAL_TOLERANCE if textured else TOLERANCE


def worst(
    context: Context,
    graph: Graph,
    layer: str,
    inputs: Sequence[NDArray[np.floating]],
    weights: str = "auto",
    layout: str = "atlas",
) -> float:
    """Return the largest error of one layer of a graph, in steps."""
    with Session(make_bundle(graph, weights, layout), context=context) as session:
        return layer_error(session, layer, inputs)


def stored_inputs(bundle: Bundle, layer: str, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Return random inputs of a layer, as their textures can store them: any byte, or any 16-bit value.

    Gates of a convolution are from 0 to 1.
    """
    inputs: dict[str, NDArray[np.float64]] = {}
    node = bundle.graph.by_name[layer]
    names = node.inputs
    for name in names:
        value = bundle.values[name]
        if isinstance(value, FeatureMap):
            inputs[name] = value.scale_of * (rng.integers(0, 256, shape_of(value)) - value.zero_of) / 255.0
        elif isinstance(value, SixteenBitMap):
            integers = rng.integers(0, LIMIT_16_BITS + 1, shape_of(value))
            inputs[name] = value.scale_of * (integers / 256.0 - value.zero_of) / 255.0
        else:
            inputs[name] = rng.integers(-32768, 32768, shape_of(value)) * (value.scale / 256.0)
            if node.op == "gated_convolution":
                inputs[name] %= 1.0
    return [inputs[name] for name in names]
