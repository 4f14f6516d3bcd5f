"""Planar and atlas layout, the lanes of a slice, and shared textures: the same bytes in each arrangement."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import ranged
import tiny
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from numpy.typing import NDArray
from pairwise import pairs_of
from plain_runner import PlainRunner
from random_networks import KINDS, fine_rounding, network, pick
from tiny import tiny_graph

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.assemble import classes_of, to_bundle
from glsl_infer.compiler.calibration_maps import compute_maps
from glsl_infer.compiler.memory import METHODS
from glsl_infer.compiler.optimize import optimize as optimize_graph
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.lowering.calibration_maps import CalibrationMaps
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import LAYOUTS, FeatureMap
from glsl_infer.program.texels import decode_tiles
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session

SMALL = Path(__file__).resolve().parents[2] / "models/trashnet-x22-129.glslnn"
SAME = (1, 1, 1, 1)
MODES = ("baked", "uniform")


def wide(rng: np.random.Generator) -> Graph:
    """Return a network with 10 slices, which a pass in planar layout cannot read at once."""
    body = [
        input_node(9),
        conv_node(rng, "many", ("image",), 3, 40, kernel=(2, 2), strides=(2, 2), padding=(0, 1, 0, 1)),
        conv_node(rng, "wide", ("many",), 40, 6, kernel=(2, 2), padding=(0, 1, 1, 0)),
        conv_node(rng, "again", ("many", "wide"), 40, 6),
    ]
    return classifier(rng, body, 6)


def residual(rng: np.random.Generator) -> Graph:
    """Return a network with 7 slices and a residual: all 8 textures of a pass."""
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 28, kernel=(3, 3)),
        conv_node(rng, "pw", ("stem",), 28, 28),
        conv_node(rng, "full", ("pw", "stem"), 28, 28, kernel=(3, 3), padding=SAME),
        Node("sum", "add", ("full", "pw"), {"activation": "piecewise_linear_sigmoid"}),
    ]
    return classifier(rng, body, 28)


def affine(rng: np.random.Generator) -> Graph:
    """Return a network with ranges beginning below 0, and all operators without ranges of their own."""
    image = input_node(8).with_attrs(scales=(2.0,), zeros=(127.5,))
    body = [
        image,
        conv_node(rng, "a", ("image",), 3, 13, kernel=(3, 3), padding=SAME, activation="relu"),
        conv_node(rng, "b", ("a",), 13, 13, kernel=(3, 3), groups=13, padding=SAME, activation="linear"),
        Node("pool", "max_pool", ("b",), {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}),
        Node("mean", "average_pool", ("b",), {"pool": (2, 2), "strides": (2, 2), "padding": (0, 0, 0, 0)}),
        Node("joint", "concat_copy", ("pool", "mean")),
        conv_node(rng, "c", ("joint",), 26, 12, activation="relu(6)"),
        Node("picture", "depth_to_space", ("c",), {"block": 2}),
        Node("large", "upsample_bilinear", ("picture",), {"size": (2, 2)}),
    ]
    return Graph("affine", tuple(body), "large")


NETWORKS = {"tiny": lambda rng: optimize.optimize(tiny_graph()), "wide": wide, "residual": residual, "affine": affine}


def pictures(size: int) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(3)]


@cache
def exported(name: str, weights: str, layout: str) -> Bundle:
    graph = NETWORKS[name](np.random.default_rng(0))
    images = pictures(graph.input.attrs["shape"][0])
    # Atlas does not need 16-bit partial sums, and is more exact without them. Here it gets those of planar.
    return make_bundle(graph, weights, layout, images, prepared_for="planar")


def outputs(context: Context, bundle: Bundle) -> dict[str, bytes]:
    """Return the bytes of every layer's output for an image, and of the whole frame."""
    picture = pictures(bundle.manifest.input.size)[0]
    with Session(bundle, context=context, selfcheck=True) as session:
        results = {name: output.tobytes() for name, output in session.layers(picture)}
        return {**results, "frame": session.run(picture).tobytes()}


@pytest.mark.sampled(3)
@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", MODES)
@pytest.mark.parametrize("name", NETWORKS)
def test_planar_and_atlas_give_the_same_bytes(context: Context, name: str, weights: str) -> None:
    planar, atlas = (outputs(context, exported(name, weights, layout)) for layout in ("planar", "atlas"))
    assert list(planar) == list(atlas)
    assert [name for name in planar if planar[name] != atlas[name]] == []


@pytest.mark.exhaustive
def test_x22_gives_the_same_bytes(context: Context) -> None:
    shipped = bundles.read(SMALL)
    atlas, planar = (
        to_bundle(lower.to_program(shipped.graph, Target(weights="uniform", layout=layout)), shipped.labels)
        for layout in ("atlas", "planar")
    )
    assert_planar(planar)
    of_planar, of_atlas = outputs(context, planar), outputs(context, atlas)
    assert list(of_planar) == list(of_atlas)
    assert [name for name in of_planar if of_planar[name] != of_atlas[name]] == []


@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", MODES)
@pytest.mark.parametrize("name", NETWORKS)
def test_planar_stays_within_the_limits(name: str, weights: str) -> None:
    assert_planar(exported(name, weights, "planar"))


@pytest.mark.drivers("all")
def test_a_planar_pass_reads_eight_textures() -> None:
    planar = exported("residual", "uniform", "planar")
    assert max(len(draw.textures) for draw in planar.manifest.passes) == 8
    assert "full-products" not in planar.graph.by_name


@pytest.mark.drivers("all")
def test_an_atlas_shares_textures() -> None:
    atlas = exported("wide", "uniform", "atlas")
    assert len({view.texture for view in atlas.values["many"].views}) == 1


def assert_planar(bundle: Bundle) -> None:
    """Check that a pass reads at most 8 textures, each with one slice of a feature map, which others may reuse later.

    Partial sums are the exception: they share textures, because a pass adds more of them than it can bind.
    """
    assert max(len(draw.textures) for draw in bundle.manifest.passes) <= 8
    for name, value in bundle.values.items():
        if isinstance(value, FeatureMap):
            assert len({view.texture for view in value.views}) == len(value.views)
            drawn = [draw for draw in bundle.manifest.passes if draw.layer == name]
            assert all(len(draw.quads) == 1 for draw in drawn)
            assert len({draw.target for draw in drawn}) == len(drawn)


SIZE = 7


def made_of(source: Node, channels: int, filled: int, bits: int, padding: int = 0) -> Bundle:
    """Return a layer, zeros in its padding lanes, and a convolution over all of these channels."""
    rng = np.random.default_rng(channels + bits)
    picked = (*range(channels), *[-1] * filled)
    grown = Node("grown", "channel_gather", (source.name,), {"channels": picked})
    end = conv_node(rng, "end", ("grown",), len(picked), 5, kernel=(3, 3), padding=(padding,) * 4, activation="linear")
    body = [input_node(SIZE), *[source] * (source.name != "image"), grown, end]
    graph = optimize_graph(Graph("network", body, [GraphOutput("numbers", (body[-1].name,), purpose="values")]))
    pictures = [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(3)]
    return make_bundle(graph, pictures=pictures, precision=str(bits))


@pytest.mark.drivers("all")
@pairs_of(
    ("bits", [8, 16]),
    ("activation", ["relu", "linear"]),
    ("channels, filled", [(6, 2), (5, 2), (9, 3), (1, 3), (11, 1)]),
)
def test_a_reader_finds_zeros(context: Context, channels: int, filled: int, activation: str, bits: int) -> None:
    rng = np.random.default_rng(channels)
    bundle = made_of(conv_node(rng, "c", ("image",), 3, channels, activation=activation), channels, filled, bits)
    assert not [draw for draw in bundle.manifest.passes if draw.layer == "grown"]
    with Session(bundle, context=context) as session:
        inputs = stored_inputs(bundle, "end", rng)
        most = TOLERANCE + fine_rounding(bundle, bundle.graph.by_name["end"])
        assert layer_error(session, "end", inputs) <= most
        session.run_layer("c", stored_inputs(bundle, "c", rng))
        value = bundle.values["grown"]
        places = [(session.read_texture(view.texture), view) for view in value.views]
        tiles = np.stack([texture[view.y : view.y + SIZE, view.x : view.x + SIZE] for texture, view in places])
        grown = decode_tiles(tiles, value)
        assert grown[..., :channels].any() and not grown[..., channels:].any()


@pytest.mark.drivers("all")
@pytest.mark.parametrize("bits", [8, 16])
def test_a_padded_map_is_drawn(context: Context, bits: int) -> None:
    """A padded map is drawn, because the gutter of a 16-bit map has the same colour in all lanes."""
    rng = np.random.default_rng(1)
    bundle = made_of(conv_node(rng, "c", ("image",), 3, 6, activation="linear"), 6, 2, bits, padding=1)
    assert [draw for draw in bundle.manifest.passes if draw.layer == "grown"]
    with Session(bundle, context=context) as session:
        for layer in ("grown", "end"):
            most = TOLERANCE + fine_rounding(bundle, bundle.graph.by_name[layer])
            assert layer_error(session, layer, stored_inputs(bundle, layer, rng)) <= most


@pytest.mark.drivers("all")
def test_image_alpha_is_not_read_as_a_zero_lane(context: Context) -> None:
    bundle = made_of(input_node(SIZE), 3, 1, 8)
    assert [draw for draw in bundle.manifest.passes if draw.layer == "grown"]
    rng = np.random.default_rng(0)
    with Session(bundle, context=context) as session:
        assert layer_error(session, "grown", stored_inputs(bundle, "grown", rng)) <= TOLERANCE
        assert layer_error(session, "end", stored_inputs(bundle, "end", rng)) <= TOLERANCE


@pytest.mark.drivers("all")
@pairs_of(("layout", ["atlas", "planar"]), ("ends", [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0)]), ("joined", [False, True]))
def test_a_residual_that_is_or_holds_the_picture(
    context: Context, ends: tuple[float, float], layout: str, joined: bool
) -> None:
    rng = np.random.default_rng(0)
    low, high = ends
    image = input_node(7).with_attrs(scales=(high - low,), zeros=(-255.0 * low / (high - low),))
    options = {"kernel": (3, 3), "padding": (1, 1, 1, 1), "activation": "linear"}
    nodes = [image, conv_node(rng, "a", ("image",), 3, 4, **options)]
    if joined:
        nodes += [Node("both", "concat", ("a", "image")), conv_node(rng, "b", ("a", "both"), 4, 7, **options)]
    else:
        nodes.append(conv_node(rng, "b", ("a", "image"), 4, 3, **options))
    pictures = [rng.integers(0, 256, (7, 7, 3), np.uint8) for _ in range(3)]
    bundle = make_bundle(Graph("skip", tuple(nodes), "b"), "auto", layout, pictures)
    with Session(bundle, context=context, selfcheck=True) as session:
        outputs = session.run(pictures[0])
    step = max(bundle.values["b"].scales) / 255
    np.testing.assert_allclose(outputs, reference.run(bundle, pictures[0]), atol=1.01 * step)


@pytest.mark.drivers
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("layout", "most"), [("atlas", 1), ("planar", 10)])
def test_a_head_of_one_pixel(context: Context, bits: int, layout: str, most: int) -> None:
    rng = np.random.default_rng(bits)
    head = conv_node(rng, "head", ("body",), 8, 37, kernel=(3, 3), strides=(3, 3), activation="linear")
    nodes = (input_node(3), conv_node(rng, "body", ("image",), 3, 8), head)
    bundle = make_bundle(
        Graph("test", nodes, [GraphOutput("numbers", ("head",), purpose="values")]),
        "texture",
        layout,
        [rng.integers(0, 256, (3, 3, 3), np.uint8)] * 2,
        precision_for={"head": bits},
    )
    passes = [draw for draw in bundle.manifest.passes if draw.layer == "head"]
    assert {draw.pixels for draw in passes} == {10 * bits // 8 // len(passes)}
    assert len(passes) <= most and all(len(draw.quads) <= bits // 8 for draw in passes)
    with Session(bundle, context=context) as session:
        assert layer_error(session, "head", stored_inputs(bundle, "head", rng)) <= TOLERANCE


MODELS = Path(__file__).resolve().parents[2] / "models"
SHARED = [method for method in METHODS if method != "naive"]


class Maker:
    """Bundles of one graph with different texture sharing; its calibration maps are computed once."""

    def __init__(self, graph: Graph, layout: str = "atlas") -> None:
        self._graph, self._layout = graph, layout
        self._maps = CalibrationMaps(lambda: compute_maps(graph, ()))

    def __call__(self, memory: str) -> Bundle:
        program = lower.to_program(
            self._graph, Target(weights="uniform", layout=self._layout, memory=memory), maps=self._maps
        )
        return to_bundle(program, [f"class {index}" for index in range(classes_of(self._graph))])


def outputs_of_layers(context: Context, bundle: Bundle) -> dict[str, bytes]:
    """Return the bytes of every layer for an image, of a frame of another, and of a frame of the first again."""
    size = bundle.manifest.input.size
    first, second = np.random.default_rng(5).integers(0, 256, (2, size, size, 3), np.uint8)
    with Session(bundle, context=context, selfcheck=True) as session:
        results = {name: output.tobytes() for name, output in session.layers(first)}
        return {**results, "another": session.run(second).tobytes(), "frame": session.run(first).tobytes()}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["grocery-x22-385", "trashnet-x22-129", "superres-x2-96"])
def test_shipped_models(context: Context, name: str) -> None:
    """X22 at its largest and smallest size; those in between share textures in the same way."""
    graph = bundles.read(MODELS / f"{name}.glslnn").graph
    maker = Maker(graph)
    expected = outputs_of_layers(context, maker("naive"))
    for method in SHARED:
        assert outputs_of_layers(context, maker(method)) == expected, method


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "seeds",
    [pytest.param((0,), marks=pytest.mark.drivers("all")), pytest.param((1, 2), marks=pytest.mark.exhaustive)],
    ids=["one", "more"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_random_networks(context: Context, kind: str, seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        rng = np.random.default_rng([seed, list(KINDS).index(kind)])
        graph, layout = network(kind, rng), pick(rng, LAYOUTS)
        size = graph.input.attrs["shape"][0]
        pictures = [rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(3)]
        prepared = prepare(graph, Calibration(pictures), target=Target(layout=layout)).graph
        maker = Maker(prepared, layout)
        expected = outputs_of_layers(context, maker("naive"))
        for method in SHARED:
            assert outputs_of_layers(context, maker(method)) == expected, (seed, method)


@pytest.mark.drivers("all")
@pytest.mark.parametrize("layer", ["unit-pw", "unit-dw", "dense"])
def test_a_layer_alone_has_clean_gutters_after_another_used_its_texture(context: Context, layer: str) -> None:
    results = []
    for method in ("naive", "by-size"):
        with Session(tiny.tiny_bundle(memory=method), context=context) as session:
            session.run(tiny.tiny_picture(1))  # leaves the last layer's texels in every shared texture
            rng = np.random.default_rng(0)
            shapes = session.bundle.graph.shapes
            inputs = [rng.uniform(0, 1, shapes[name]) for name in session.bundle.graph.by_name[layer].inputs]
            results.append(session.run_layer(layer, inputs))
    assert np.array_equal(*results)


@pytest.mark.drivers("all")
def test_the_plain_runner_draws_shared_textures(tmp_path: Path) -> None:
    picture = tiny.tiny_picture(3)
    bundle = tiny.tiny_bundle(memory="by-size")
    bundles.write(bundle, tmp_path / "shared.glslnn")
    with Session(tiny.tiny_bundle(memory="naive")) as session:
        expected = session.run(picture)
    with Context() as context:
        runner = PlainRunner(tmp_path / "shared.glslnn", context.gl, driver_of(context).device_lines)
        assert len(list(runner.layers({"image": picture.tobytes()}))) == 6
        ((_, values),) = runner.results().values()
        np.testing.assert_allclose(values, expected, rtol=3e-7)


@pytest.mark.drivers("all")
def test_clear_colours_are_those_of_the_layers(context: Context) -> None:
    """Clear colours match the layers if gutters with and without 0 are in one network."""
    graph = prepare(ranged.ranged_graph(), Calibration([ranged.ranged_picture(seed) for seed in range(3)])).graph
    maker = Maker(graph)
    expected = outputs_of_layers(context, maker("naive"))
    for method in SHARED:
        assert outputs_of_layers(context, maker(method)) == expected, method
