"""Planar and atlas layout give the same bytes; planar binds at most 8 textures of one slice each."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle
from numpy.typing import NDArray
from tiny import tiny_graph

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.lowering.target import Target
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.session import Session

SMALL = Path(__file__).resolve().parents[2] / "models/trashnet-x22-129.glslnn"
SAME = (1, 1, 1, 1)
MODES = ("baked", "uniform")


def wide(rng: np.random.Generator) -> Graph:
    body = [
        input_node(9),
        conv_node(rng, "many", ("image",), 3, 40, kernel=(2, 2), strides=(2, 2), padding=(0, 1, 0, 1)),
        conv_node(rng, "wide", ("many",), 40, 6, kernel=(2, 2), padding=(0, 1, 1, 0)),
        conv_node(rng, "again", ("many", "wide"), 40, 6),
    ]
    return classifier(rng, body, 6)


def residual(rng: np.random.Generator) -> Graph:
    body = [
        input_node(9),
        conv_node(rng, "stem", ("image",), 3, 28, kernel=(3, 3)),
        conv_node(rng, "pw", ("stem",), 28, 28),
        conv_node(rng, "full", ("pw", "stem"), 28, 28, kernel=(3, 3), padding=SAME),  # 7 slices and a residual: all 8
        Node("sum", "add", ("full", "pw"), {"activation": "piecewise_linear_sigmoid"}),
    ]
    return classifier(rng, body, 28)


def affine(rng: np.random.Generator) -> Graph:
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
