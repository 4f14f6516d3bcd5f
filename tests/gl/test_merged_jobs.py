"""Independent layers are drawn in one job, next to each other in one texture, with the same results."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import each_of

from glsl_infer.bundle import Bundle
from glsl_infer.compiler import sharing
from glsl_infer.compiler.lower import to_program
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.rewrites import dedupe_zero_maps
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers

PICTURE = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)


def block(size: int = 16, channels: int = 12) -> Graph:
    """Return a block whose pooling and convolution read one map, and two heads; the clips fix each map's range."""
    rng = np.random.default_rng(1)
    clip = {"activation": "relu(6)"}
    nodes = [
        input_node(size),
        conv_node(rng, "a", ("image",), 3, channels, **clip),
        conv_node(rng, "b", ("a",), channels, channels, kernel=(3, 3), strides=(2, 2), padding=(0, 1, 0, 1), **clip),
        Node("pool", "max_pool", ("a",), {"pool": (2, 2), "strides": (2, 2)}),
        conv_node(rng, "c", ("b",), channels, channels, activation="relu(6)"),
        Node("sum", "add", ("c", "pool"), {"activation": "relu(6)"}),
        conv_node(rng, "boxes", ("sum",), channels, 5, **clip),
        conv_node(rng, "scores", ("sum",), channels, 7, **clip),
    ]
    return Graph("block", nodes, [GraphOutput(name, (name,)) for name in ("boxes", "scores")])


def jobs(bundle: Bundle) -> list[list[str]]:
    """Return the layers of each job."""
    results: list[list[str]] = []
    for draw in bundle.manifest.passes:
        if draw.clear:
            results.append([])
        if draw.layer not in results[-1]:
            results[-1].append(draw.layer)
    return results


@each_of(("memory", ["naive", "greedy", "by-size"]), ("precision", ["8", "16"]))
def test_independent_layers_share_a_job(
    context: Context, memory: str, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = make_bundle(block(), memory=memory, precision=precision)
    assert jobs(bundle) == [["a"], ["b", "pool"], ["c"], ["sum"], ["boxes", "scores"]]
    rng = np.random.default_rng(2)
    with Session(bundle, context=context, selfcheck=True) as session:
        for layer in ("b", "pool", "sum", "boxes", "scores") if precision == "8" else ():
            assert layer_error(session, layer, stored_inputs(bundle, layer, rng)) <= TOLERANCE
        together = session.run({"image": PICTURE})
    monkeypatch.setattr(sharing, "MOST_TILES", -(1 << 20))
    with Session(make_bundle(block(), memory=memory, precision=precision), context=context) as session:
        assert len(jobs(session.bundle)) == 7
        apart = session.run({"image": PICTURE})
    assert all((together[name] == apart[name]).all() for name in ("boxes", "scores"))


@pytest.mark.parametrize("sixteen", [("b",), ("scores",), ("a", "b", "boxes")])
def test_maps_of_8_and_of_16_bits_are_one_job(
    context: Context, sixteen: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    bits = dict.fromkeys(sixteen, 16)
    bundle = make_bundle(block(), precision_for=bits)
    assert jobs(bundle) == [["a"], ["b", "pool"], ["c"], ["sum"], ["boxes", "scores"]]
    with Session(bundle, context=context, selfcheck=True) as session:
        together = session.run({"image": PICTURE})
    monkeypatch.setattr(sharing, "MOST_TILES", -(1 << 20))
    with Session(make_bundle(block(), precision_for=bits), context=context) as session:
        apart = session.run({"image": PICTURE})
    assert all((together[name] == apart[name]).all() for name in ("boxes", "scores"))


@pytest.mark.parametrize("bits", ["8", "16"])
def test_means_and_a_map_are_one_job(context: Context, bits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    nodes = [
        input_node(16),
        conv_node(rng, "a", ("image",), 3, 8, activation="relu(6)"),
        conv_node(rng, "b", ("a",), 8, 10, kernel=(2, 2), strides=(2, 2), activation="sigmoid"),
        Node("up", "upsample_bilinear", ("b",), {"size": (2, 2)}),
        Node("means", "global_average_pool", ("a", "b")),
        dense_node(rng, "gates", "means", 18, 10, activation="sigmoid"),
        Node("gated", "binary", ("up", "gates"), {"operation": "multiply"}),
    ]
    pictures = [np.random.default_rng(seed).integers(0, 256, (16, 16, 3), np.uint8) for seed in range(2)]
    graph = Graph("gated", nodes, "gated")
    bundle = make_bundle(graph, pictures=pictures, precision=bits)
    assert jobs(bundle) == [["a"], ["b"], ["up", "means"], ["gates"], ["gated"]]
    with Session(bundle, context=context, selfcheck=True) as session:
        for layer in ("up", "means", "gates", "gated"):
            assert layer_error(session, layer, stored_inputs(bundle, layer, rng)) <= TOLERANCE
        together = session.run(PICTURE)
    monkeypatch.setattr(sharing, "MOST_TILES", -(1 << 20))
    with Session(make_bundle(graph, pictures=pictures, precision=bits), context=context) as session:
        assert len(jobs(session.bundle)) == 6
        apart = session.run(PICTURE)
    assert (together == apart).all()


@pytest.mark.parametrize("padded", ["b", "c", "both"])
def test_unpadded_maps_share_a_job_with_any_clear_colour(
    context: Context, padded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    nodes = [
        input_node(16),
        conv_node(rng, "a", ("image",), 3, 8, activation="relu(6)"),
        conv_node(rng, "b", ("a",), 8, 8, activation="linear"),
        conv_node(rng, "c", ("a",), 8, 8, activation="linear"),
    ]
    for name, source in (("d", "b"), ("e", "c")):
        wide = {"kernel": (3, 3), "padding": (1, 1, 1, 1)} if padded in (source, "both") else {}
        nodes.append(conv_node(rng, name, (source,), 8, 4, activation="relu(6)", **wide))
    graph = Graph("colours", nodes, [GraphOutput(name, (name,)) for name in ("d", "e")])
    pictures = [np.random.default_rng(seed).integers(0, 256, (16, 16, 3), np.uint8) for seed in range(4)]
    bundle = make_bundle(graph, pictures=pictures)
    colours = {texture.clear for texture in bundle.manifest.textures if any(texture.clear)}
    assert len(colours) == (2 if padded == "both" else 1)
    assert jobs(bundle)[1:] == ([["b"], ["c"], ["d", "e"]] if padded == "both" else [["b", "c"], ["d", "e"]])
    with Session(bundle, context=context, selfcheck=True) as session:
        together = session.run({"image": PICTURE})
    monkeypatch.setattr(sharing, "MOST_TILES", -(1 << 20))
    with Session(make_bundle(graph, pictures=pictures), context=context) as session:
        apart = session.run({"image": PICTURE})
    assert all((together[name] == apart[name]).all() for name in ("d", "e"))


def test_outputs_are_together_where_a_job_less_is_not_to_be_had() -> None:
    rng = np.random.default_rng(7)
    clip = {"activation": "relu(6)"}
    nodes = [
        input_node(16),
        conv_node(rng, "a", ("image",), 3, 8, **clip),
        conv_node(rng, "b", ("a",), 8, 8, **clip),
        conv_node(rng, "near", ("a",), 8, 4, **clip),
        conv_node(rng, "far", ("b",), 8, 4, **clip),
    ]
    bundle = make_bundle(Graph("heads", nodes, [GraphOutput(name, (name,)) for name in ("near", "far")]))
    assert jobs(bundle) == [["a"], ["b"], ["near", "far"]]


def test_tiles_of_a_job_never_overlap() -> None:
    bundle = make_bundle(block())
    regions: dict[str, set[tuple[int, int]]] = {}
    for draw in bundle.manifest.passes:
        pixels = regions.setdefault(draw.target, set())
        if draw.clear:
            pixels.clear()
        for quad in draw.quads:
            drawn = {(x, y) for x in range(quad.x, quad.x + quad.width) for y in range(quad.y, quad.y + quad.height)}
            assert not drawn & pixels
            pixels |= drawn


def test_textures_that_would_grow_too_large_stay_separate() -> None:
    rng = np.random.default_rng(3)
    nodes = [input_node(500), conv_node(rng, "a", ("image",), 3, 4, activation="relu(6)")]
    for name, strides in (("b", (1, 490)), ("c", (490, 1))):  # one is high, the other wide
        nodes.append(conv_node(rng, name, ("a",), 4, 4, strides=strides, activation="relu(6)"))
    graph = prepare(Graph("cross", nodes, [GraphOutput(name, (name,)) for name in ("b", "c")])).graph
    program = to_program(graph)
    assert len({draw.target for draw in program.passes}) == 3


def test_zeros_in_the_job_of_a_pooling_do_not_wait() -> None:
    rng = np.random.default_rng(4)
    zeros = {"kernel": np.zeros((1, 1, 1, 4), np.float32), "bias": np.zeros(4, np.float32)}
    nodes = [
        input_node(16),
        conv_node(rng, "a", ("image",), 3, 8, activation="relu(6)"),
        conv_node(rng, "b", ("a",), 8, 12, kernel=(2, 2), strides=(2, 2), activation="relu(6)"),
        Node("pool", "max_pool", ("a",), {"pool": (2, 2), "strides": (2, 2)}),
        Node("part", "channel_view", ("pool",), {"channels": (0, 1, 2, 3)}),
        Node("zeros", "conv2d", ("part",), {"groups": 4, "activation": "linear"}, zeros),
        Node("joined", "concat", ("pool", "zeros")),
        Node("sum", "add", ("b", "joined"), {"activation": "relu(6)"}),
    ]
    graph = Graph("zeros", nodes, [GraphOutput("sum", ("sum",))])
    deduplicated = dedupe_zero_maps(graph)
    assert deduplicated.by_name["part"].inputs == ("a",)
    assert deduplicated.by_name["zeros"].attrs["strides"] == (2, 2)
    assert deduplicated.shapes == {**graph.shapes, "part": (16, 16, 4)}
