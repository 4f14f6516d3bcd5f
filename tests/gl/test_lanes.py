"""The four lanes of a slice: padding lanes of zeros, the image's alpha, and the slices of one pixel in a column."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import conv_node, input_node
from layer_check import TOLERANCE, layer_error, make_bundle, stored_inputs
from pairwise import pairs_of
from random_networks import fine_rounding

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.optimize import optimize
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.program.texels import decode_tiles
from glsl_infer.runtime.session import Session

SIZE = 7


def made_of(source: Node, channels: int, filled: int, bits: int, padding: int = 0) -> Bundle:
    """Return a layer, zeros in its padding lanes, and a convolution over all of these channels."""
    rng = np.random.default_rng(channels + bits)
    picked = (*range(channels), *[-1] * filled)
    grown = Node("grown", "channel_gather", (source.name,), {"channels": picked})
    end = conv_node(rng, "end", ("grown",), len(picked), 5, kernel=(3, 3), padding=(padding,) * 4, activation="linear")
    body = [input_node(SIZE), *[source] * (source.name != "image"), grown, end]
    graph = optimize(Graph("network", body, [GraphOutput("numbers", (body[-1].name,), purpose="values")]))
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
