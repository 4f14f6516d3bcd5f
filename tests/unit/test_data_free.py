"""Ranges without calibration images: batch-norm statistics cover the values of training images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler import delegate
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import Calibration, data_free, prepare, stored
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.activations import activation
from glsl_infer.graph.node import NORMAL

RNG = np.random.default_rng(11)
PICTURES = [RNG.integers(0, 256, (16, 16, 3), np.uint8) for _ in range(6)]


def normed(graph: Graph) -> Graph:
    """Return a graph whose batch norms have the statistics of ``PICTURES``, as training leaves them."""
    for node in [node for node in graph.nodes if node.op == "batch_norm"]:
        inputs = [dict(reference.all_values(graph, picture, mode="float"))[node.inputs[0]] for picture in PICTURES]
        weights = {**node.weights, "mean": np.mean(inputs, axis=(0, 1, 2)), "variance": np.var(inputs, axis=(0, 1, 2))}
        layer = Node(node.name, node.op, node.inputs, node.attrs, {k: v.astype(np.float32) for k, v in weights.items()})
        graph = graph.rebuilt([layer if other.name == node.name else other for other in graph.nodes])
    return graph


def norm(name: str, source: str, channels: int) -> Node:
    ones = np.ones(channels, np.float32)
    gamma, beta = RNG.uniform(0.3, 2.0, channels), RNG.normal(0.0, 0.5, channels)
    weights = {"gamma": gamma.astype(np.float32), "beta": beta.astype(np.float32), "mean": ones, "variance": ones}
    return Node(name, "batch_norm", (source,), {"epsilon": 1e-3}, weights)


def network(*, norms: bool = True) -> Graph:
    """Return a network of a residual unit, a pool, a layer without a batch norm, and a batch norm on its own."""
    nodes = [
        input_node(16),
        conv_node(RNG, "first", ("image",), 3, 8, kernel=(3, 3), activation="linear"),
        norm("first-norm", "first", 8),
        Node("first-relu", "activation", ("first-norm",), {"function": "relu"}),
        conv_node(RNG, "second", ("first-relu",), 8, 8, kernel=(3, 3), padding=(1, 1, 1, 1), activation="linear"),
        norm("second-norm", "second", 8),
        Node("sum", "add", ("second-norm", "first-relu"), {"activation": "linear"}),
        Node("sum-relu", "activation", ("sum",), {"function": "relu"}),
        conv_node(RNG, "third", ("sum-relu",), 8, 12, activation="relu"),
        Node("pool", "max_pool", ("third",), {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}),
        norm("alone", "pool", 12),
        conv_node(RNG, "fourth", ("alone",), 12, 6, activation="linear"),
    ]
    graph = Graph("network", nodes, "fourth")
    if norms:
        return normed(graph)
    renamed = {node.name: node.inputs[0] for node in nodes if node.op == "batch_norm"}
    return graph.rebuilt([node for node in nodes if node.name not in renamed], renamed)


def test_ranges_cover_observed_values_with_a_bounded_factor() -> None:
    graph = optimize(network())
    prepared = prepare(graph)
    chosen = {choice.layer: choice for choice in prepared.ranges}
    assert {choice.by for choice in chosen.values()} == {data_free.BY_NORMS}
    assert data_free.warnings([(range.layer, range.by) for range in prepared.ranges])[0].startswith(
        "layer 'first' and "
    )
    for name, choice in chosen.items():
        values = np.stack([dict(reference.all_values(graph, picture, mode="float"))[name] for picture in PICTURES])
        assert choice.low <= float(values.min()) + 1e-6
        assert choice.high >= float(values.max()) - 1e-6
        assert choice.high - choice.low <= 5.0 * float(values.max() - values.min())
    errors = [
        reference.run(prepared.graph, picture) - reference.run(graph, picture, mode="float") for picture in PICTURES
    ]
    floats = np.stack([reference.run(graph, picture, mode="float") for picture in PICTURES])
    assert 20.0 * np.log10(float(floats.std()) / float(np.std(errors))) > 20.0


def test_ranges_of_pictures_take_precedence_over_batch_norms() -> None:
    prepared = prepare(optimize(network()), Calibration(PICTURES))
    assert not data_free.warnings([(range.layer, range.by) for range in prepared.ranges])


def test_networks_without_batch_norms_need_images() -> None:
    with pytest.raises(ModelError, match="--images DIR"):
        prepare(optimize(network(norms=False)))


def test_statistics_change_neither_cpu_parts_nor_fingerprints(tmp_path: Path) -> None:
    graph = network()
    samples = [{"image": picture} for picture in PICTURES]
    built = delegate.build(graph, (), options=Options(delegate_for=("second",)), calibration=samples)
    bundles.write(built.bundle, tmp_path / "parts.glslnn")
    assert len(bundles.read(tmp_path / "parts.glslnn").parts) == 3
    small = optimize(graph)
    plain = [
        replace(node, attrs={key: value for key, value in node.attrs.items() if key != NORMAL}) for node in small.nodes
    ]
    assert any(NORMAL in node.attrs for node in small.nodes)
    assert stored.fingerprint(small) == stored.fingerprint(small.rebuilt(plain))


def test_a_function_of_a_normal_distribution() -> None:
    spread = data_free._after_activation(
        activation("relu"), np.array([0.0, 10.0]), np.array([1.0, 1.0]), from_norm=True
    )
    assert spread.mean == pytest.approx([0.3989, 10.0], rel=0.01)
    assert spread.deviation == pytest.approx([0.5838, 1.0], rel=0.01)
    assert spread.low == pytest.approx([0.0, 4.0])
    assert spread.high == pytest.approx([6.0, 16.0])
