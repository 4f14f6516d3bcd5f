"""A reference written only from graph-format.md computes the expected outputs of the probe."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import ranged
import several
import tiny
from activation_texts import CHANNELS, TEXTS
from graphs import conv_node, dense_node, input_node, pool_node
from plain_reference import PlainReference

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import Calibration, Precision, prepare
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.lowering.target import Target
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.ops.resample import rounded
from glsl_infer.ops.vector_affine import affine_node
from glsl_infer.program.layout import LAYOUTS


def check(path: Path) -> None:
    """Compare every layer with the engine's reference and with the probe's records."""
    plain = PlainReference(path)
    manifest = json.loads(plain.members["manifest.json"])
    bundle = bundles.read(path)
    values = probe.inputs(bundle.manifest.inputs)
    engine = dict(reference.all_values(bundle, values))
    records = list(struct.iter_unpack("<HH4s", plain.members[manifest["probe"]["member"]]))
    entries = {entry["layer"]: entry for entry in manifest["probe"]["layers"]}
    seen = 0
    for name, result in plain.run(values):
        output = plain.layers[name]["output"]
        step = output["scale"] / 256 if "scale" in output else plain.range_of(name)[0] / 255
        fine = "bits" in output
        step = step / 256 if fine else step
        off = np.abs(result - engine[name]) / np.abs(step)
        # Kernels unfolded in float32 and in double differ in the last bit, which changes some roundings.
        assert off.max() <= (2.01 if fine else 1.01) and off.mean() < (0.1 if fine else 0.005), name
        if name in entries and "views" in output and "scales" in output:
            entry, wrong = entries[name], 0
            stored = result / plain.range_of(name)[0] * 255 + plain.range_of(name)[1]
            stored = np.rint(stored * 256 if fine else stored).astype(int)
            if fine:
                stored = np.stack([stored // 256, stored % 256], axis=-1).reshape(*stored.shape[:2], -1)
            for k, (x, y, expected) in enumerate(records[entry["offset"] : entry["offset"] + entry["count"]]):
                s = k % len(output["views"])
                _, left, top = output["views"][s]
                texel = stored[y - top, x - left, 4 * s : 4 * s + 4].tolist()
                wrong += list(expected) != texel + [0] * (4 - len(texel))
            assert wrong <= (0.25 if fine else 0.02) * entry["count"], name
            seen += 1
    assert seen


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("end", ranged.ENDS)
def test_ranges_wide_convolutions_poolings_and_images(tmp_path: Path, end: str, layout: str) -> None:
    check(ranged.write_ranged(tmp_path, end, layout))


@pytest.mark.parametrize("weights", ["baked", "uniform"])
def test_shuffle_groups_and_residual(tmp_path: Path, weights: str) -> None:
    check(tiny.write_tiny(tmp_path, weights=weights))


@pytest.mark.parametrize("name", several.SEVERAL)
def test_several_inputs_and_outputs(tmp_path: Path, name: str) -> None:
    bundles.write(several.several_bundle(name), tmp_path / f"{name}.glslnn")
    check(tmp_path / f"{name}.glslnn")


def test_what_moves_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    numbers = rounded(rng.normal(0.3, 0.2, (3, 7)), rng.normal(0, 0.1, 7))
    nodes = (
        input_node(7),
        conv_node(rng, "a", ("image",), 3, 6, activation="linear"),
        conv_node(rng, "b", ("image",), 3, 10, activation="hard_sigmoid"),
        Node("joint", "concat_copy", ("a", "b", "a")),
        conv_node(rng, "mixed", ("joint",), 22, 8, activation="piecewise_linear(0.1,0.25,1.5,-0.125,0.5,0,-1,0.1)"),
        *(
            Node(name, "resample", (source,), {"axis": axis, "first": (1, 0, 3, 3, 4, 2, 1), **numbers[0]}, numbers[1])
            for name, source, axis in (("rows", "mixed", 0), ("sums", "rows", 1))
        ),
        Node("large", "upsample_bilinear", ("sums",), {"size": (2, 3)}),
        Node("larger", "upsample_nearest", ("mixed",), {"size": (2, 3)}),
        Node("sum", "add", ("large", "larger"), {"activation": "relu"}),
        Node("again", "concat", ("sum", "large")),
        Node("edge", "zero_padding", ("again",), {"padding": (1, 0, 2, 1)}),
        conv_node(rng, "wide", ("edge",), 16, 5, activation="linear", kernel=(2, 2), strides=(2, 1)),
        Node("last", "activation", ("wide",), {"function": "relu(1)"}),
    )
    pictures = [rng.integers(0, 256, (7, 7, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("moves", nodes, "last"), Calibration(pictures)).graph
    bundles.write(to_bundle(lower.to_program(graph), ()), tmp_path / "moves.glslnn")
    check(tmp_path / "moves.glslnn")


def test_what_computes_on_vectors(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    nodes = (
        input_node(7),
        conv_node(rng, "a", ("image",), 3, 5, activation="relu"),
        Node("rows", "flatten_rows", ("a",), {"first": 5, "count": 14}),
        dense_node(rng, "b", "rows", 196, 7, activation="tanh"),
        Node("some", "vector_gather", ("b",), {"channels": (6, 2, 3)}),
        Node("all", "vector_concat", ("some", "b")),
        affine_node("norm", "all", rng.normal(0, 1, 10), rng.normal(0, 1, 10)),
        *(
            Node(name, "vector_binary", ("norm", "all"), {"operation": name, "activation": "relu"})
            for name in DRAWN
            if name != "divide"
        ),
        Node("sum", "vector_sum", tuple(name for name in DRAWN if name != "divide")),
        Node("layer", "vector_norm", ("sum",), {"gamma": tuple(rng.normal(0, 1, 10).tolist()), "beta": (0.5,)}),
        Node("unit", "vector_norm", ("layer",), {"kind": "unit", "epsilon": 0.0}),
        Node("shares", "vector_softmax", ("unit",)),
        Node("y", "vector_map", ("sum", "shares"), {"shape": (1, 4, 5), "activation": "sigmoid"}),
    )
    pictures = [rng.integers(0, 256, (7, 7, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("vectors", nodes, "y"), Calibration(pictures)).graph
    bundles.write(to_bundle(lower.to_program(graph), ()), tmp_path / "vectors.glslnn")
    check(tmp_path / "vectors.glslnn")


@pytest.mark.parametrize("activation", ["relu", "piecewise_linear(0.166666667,0.5)"])
def test_wide_convolution_with_residual_in_groups(tmp_path: Path, activation: str) -> None:
    rng = np.random.default_rng(4)
    nodes = (
        input_node(6),
        conv_node(rng, "many", ("image",), 3, 72, activation="relu"),
        conv_node(rng, "side", ("image",), 3, 6, activation="linear"),
        conv_node(
            rng, "last", ("many", "side"), 72, 6, kernel=(2, 1), groups=2, activation=activation, padding=(1, 0, 0, 0)
        ),
    )
    pictures = [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("wide", nodes, "last"), Calibration(pictures), target=Target(layout="planar")).graph
    assert "convolution_sum" in {node.op for node in graph.nodes}
    bundles.write(to_bundle(lower.to_program(graph), ()), tmp_path / "wide.glslnn")
    check(tmp_path / "wide.glslnn")


@pytest.mark.parametrize("activation", ["relu", "prelu"])
def test_sums_of_all_slices_in_one_draw(tmp_path: Path, activation: str) -> None:
    """Their unit and bias are in a texture, followed by the parameters of the activation."""
    rng = np.random.default_rng(5)
    if activation == "prelu":
        activation = f"prelu({','.join(f'{slope:.3f}' for slope in rng.uniform(0.1, 0.3, 22))})"
    nodes = (
        input_node(5),
        conv_node(rng, "many", ("image",), 3, 288, activation="relu"),
        conv_node(rng, "side", ("image",), 3, 22, activation="linear"),
        conv_node(rng, "last", ("many", "side"), 288, 22, kernel=(3, 3), activation=activation, padding=(1, 1, 1, 1)),
    )
    pictures = [rng.integers(0, 256, (5, 5, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("wide", nodes, "last"), Calibration(pictures)).graph
    whole = to_bundle(lower.to_program(graph), ())
    assert len([entry for entry in whole.manifest.passes if entry.layer == "last"]) <= 2
    bundles.write(whole, tmp_path / "wide.glslnn")
    check(tmp_path / "wide.glslnn")


PLACES = 4
"""The number of layers with an activation: a convolution, the activation alone, and two dense layers."""


@pytest.mark.parametrize("first", range(-(-len(TEXTS) // PLACES)))
def test_activations(tmp_path: Path, first: int) -> None:
    """Each activation in one of the layers, the next activation in the next layer."""
    texts = [TEXTS[(PLACES * first + index) % len(TEXTS)] for index in range(PLACES)]
    texts = texts[first % PLACES :] + texts[: first % PLACES]
    rng = np.random.default_rng(5)
    nodes = (
        input_node(6),
        conv_node(rng, "a", ("image",), 3, CHANNELS, activation=texts[0]),
        Node("b", "activation", ("a",), {"function": texts[1]}),
        pool_node("pool", "b"),
        dense_node(rng, "c", "pool", CHANNELS, CHANNELS, activation=texts[2]),
        dense_node(rng, "d", "c", CHANNELS, CHANNELS, activation=texts[3]),
        dense_node(rng, "e", "d", CHANNELS, 3),
    )
    pictures = [rng.integers(0, 256, (6, 6, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("functions", nodes, "e"), Calibration(pictures)).graph
    bundles.write(to_bundle(lower.to_program(graph), ["x", "y", "z"]), tmp_path / "functions.glslnn")
    check(tmp_path / "functions.glslnn")


@pytest.mark.parametrize("precision", ["8", "16"])
def test_maps_of_constants(tmp_path: Path, precision: str) -> None:
    rng = np.random.default_rng(8)
    nodes = (
        Node("image", "input", (), {"shape": (600, 2, 3)}),
        conv_node(rng, "a", ("image",), 3, 10, activation="linear"),
        constant_map("positions", rng.normal(0.0, 0.5, (600, 2, 10))),
        Node("last", "add", ("a", "positions")),
    )
    pictures = [rng.integers(0, 256, (600, 2, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("constants", nodes, "last"), Calibration(pictures), precision=Precision(precision)).graph
    bundles.write(to_bundle(lower.to_program(graph), ()), tmp_path / "constants.glslnn")
    check(tmp_path / "constants.glslnn")


def test_reductions_and_normalisations(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    both = ("mean", "deviation")
    gamma = tuple(rng.normal(0.5, 1.0, 6).tolist())
    nodes = (
        input_node(7),
        conv_node(rng, "a", ("image",), 3, 6, activation="linear"),
        Node("small", "min_pool", ("a",), {"pool": (2, 3), "strides": (1, 1), "padding": (1, 0, 1, 1)}),
        Node("layer", "channel_norm", ("small",), {"gamma": gamma, "beta": (0.25,), "activation": "relu"}),
        Node("rms", "channel_norm", ("layer",), {"kind": "rms"}),
        Node("unit", "channel_norm", ("rms",), {"kind": "unit", "epsilon": 0.0}),
        pool_node("mean", "unit"),
        Node("deviation", "global_deviation", ("unit",)),
        *(Node(f"group-{name}", "group_statistics", both, {"groups": 3, "statistic": name}) for name in both),
        Node("norm", "map_norm", ("unit", "group-mean", "group-deviation"), {"gamma": gamma, "activation": "tanh"}),
        Node("shares", "channel_softmax", ("norm",)),
        Node("number", "channel_argmax", ("shares",)),
        Node("least", "channel_extreme", ("shares",), {"operation": "min"}),
        Node("last", "add", ("number", "least")),
    )
    pictures = [rng.integers(0, 256, (7, 7, 3), np.uint8) for _ in range(2)]
    graph = prepare(Graph("statistics", nodes, "last"), Calibration(pictures)).graph
    bundles.write(to_bundle(lower.to_program(graph), ()), tmp_path / "statistics.glslnn")
    check(tmp_path / "statistics.glslnn")


def test_it_uses_nothing_of_ours() -> None:
    text = (Path(__file__).parents[1] / "plain_reference.py").read_text(encoding="utf-8")
    assert glsl_infer.__name__ not in text
