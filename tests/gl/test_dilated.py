"""Dilated convolutions as in DeepLab: several rates on one map, rates larger than the map, and on the input."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, allowed, layer_error, make_bundle, stored_inputs
from pairwise import each_of

from glsl_infer.compiler.optimize import optimize
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")

RATES = ((6, 6), (12, 9), (18, 18))


def pyramid(size: int, channels: int) -> Graph:
    """Return three rates and a plain 1x1 convolution on a map with ``channels`` channels, and their concatenation."""
    rng = np.random.default_rng(size)
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    for number, (down, across) in enumerate(RATES):
        options = {"kernel": (3, 3), "padding": (down, down, across, across), "dilations": (down, across)}
        body.append(conv_node(rng, f"rate{number}", ("feed",), channels, 4, **options))
    branches = tuple(f"rate{number}" for number in range(len(RATES)))
    body += [Node("joined", "concat", branches), conv_node(rng, "last", ("joined",), 4 * len(RATES), 5)]
    return classifier(rng, body, 5)


@each_of(
    ("weights, layout", [("baked", "atlas"), ("uniform", "planar"), ("texture", "atlas")]),
    ("size, channels", [(21, 12), (8, 12), (13, 36)]),
)
def test_a_pyramid_of_rates(context: Context, size: int, channels: int, weights: str, layout: str) -> None:
    made = make_bundle(optimize(pyramid(size, channels)), weights, layout)
    rng = np.random.default_rng(1)
    with Session(made, context=context) as session:
        names = [node.name for node in made.graph.nodes if node.name.startswith("rate")]
        errors = {name: layer_error(session, name, stored_inputs(made, name, rng)) for name in names}
    assert all(error <= allowed(session.bundle, name) for name, error in errors.items()), errors


def test_a_gutter_is_as_wide_as_what_meets_the_map() -> None:
    def gutter(size: int) -> int:
        value = make_bundle(optimize(pyramid(size, 12))).values["feed"]
        assert isinstance(value, FeatureMap)
        return value.gutter

    assert [gutter(size) for size in (6, 8, 10, 13, 19)] == [0, 6, 9, 12, 18]


@pytest.mark.parametrize("weights", ["baked", "uniform"])
def test_on_a_picture_whose_gutter_is_not_zero(context: Context, weights: str) -> None:
    rng = np.random.default_rng(3)
    image = input_node(9).with_attrs(scales=(2.0,), zeros=(127.5,))
    node = conv_node(rng, "n", ("image",), 3, 5, kernel=(3, 3), padding=(4, 4, 2, 2), dilations=(4, 2))
    made = make_bundle(classifier(rng, [image, node], 5), weights)
    assert made.graph.by_name["n"].attrs["alpha"]
    with Session(made, context=context, selfcheck=True) as session:
        assert layer_error(session, "n", stored_inputs(made, "n", rng)) <= TOLERANCE
