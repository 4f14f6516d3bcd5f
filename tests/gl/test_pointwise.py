"""Separate additions and activations, and channel shuffle, on the GPU."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import PLS, classifier, conv_node, input_node, stored_map
from layer_check import TOLERANCE, make_bundle, worst
from pairwise import each_of

from glsl_infer.gl.context import Context
from glsl_infer.graph import Node
from glsl_infer.ops.channel_shuffle import shuffle_order
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers("all")


@each_of(("inputs", [2, 3, 8]), ("channels", [4, 7]))
def test_sum_of_several_maps(context: Context, inputs: int, channels: int) -> None:
    rng = np.random.default_rng(inputs)
    branches = [conv_node(rng, f"branch{i}", ("image",), 3, channels) for i in range(inputs)]
    add = Node("add", "add", tuple(branch.name for branch in branches), {"activation": PLS})
    graph = classifier(rng, [input_node(5), *branches, add], channels)
    maps = [stored_map(rng, (5, 5, channels)) for _ in branches]
    assert worst(context, graph, "add", maps) <= TOLERANCE


def test_a_map_added_to_itself(context: Context) -> None:
    rng = np.random.default_rng(5)
    add = Node("add", "add", ("conv", "conv"), {"activation": "hard_sigmoid"})
    graph = classifier(rng, [input_node(5), conv_node(rng, "conv", ("image",), 3, 4), add], 4)
    one = stored_map(rng, (5, 5, 4))
    assert worst(context, graph, "add", [one, one]) <= TOLERANCE


@each_of(("function", [PLS, "hard_sigmoid", "sigmoid"]), ("channels", [6, 8]))
def test_activation_alone(context: Context, function: str, channels: int) -> None:
    rng = np.random.default_rng(6)
    activation = Node("act", "activation", ("conv",), {"function": function})
    body = [input_node(5), conv_node(rng, "conv", ("image",), 3, channels), activation]
    assert worst(context, classifier(rng, body, channels), "act", [stored_map(rng, (5, 5, channels))]) <= TOLERANCE


def test_shuffle_reorders_views_and_draws_nothing(context: Context) -> None:
    rng = np.random.default_rng(8)
    shuffle = Node("shuffle", "channel_shuffle", ("conv",), {"step": 8})
    reader = conv_node(rng, "reader", ("shuffle",), 64, 64, groups=2)
    body = [input_node(4), conv_node(rng, "conv", ("image",), 3, 64), shuffle, reader]
    graph = classifier(rng, body, 64)
    made = make_bundle(graph)
    assert not [one for one in made.manifest.passes if one.layer == "shuffle"]
    given = stored_map(rng, (4, 4, 64))
    with Session(made, context=context) as session:
        shuffled = session.run_layer("shuffle", [given])
    channels = [4 * s + lane for s in shuffle_order(64, 8) for lane in range(4)]
    np.testing.assert_allclose(shuffled, given[..., channels], atol=1e-6)
    assert worst(context, graph, "reader", [given[..., channels]]) <= TOLERANCE


def test_pooling_a_concatenation_with_the_picture_clears_its_alpha(context: Context) -> None:
    rng = np.random.default_rng(0)
    pooled = Node("pooled", "max_pool", ("both",), {"pool": (2, 2), "strides": (1, 1)})
    body = [
        input_node(6),
        conv_node(rng, "side", ("image",), 3, 8),
        Node("both", "concat", ("side", "image")),
        pooled,
    ]
    made = make_bundle(classifier(rng, body, 11))
    with Session(made, context=context, selfcheck=True) as session:
        session.run(rng.integers(0, 256, (6, 6, 3), np.uint8))
        texture = session.read_texture("pooled")
    last = made.values["pooled"].views[-1]
    tile = texture[last.y : last.y + 5, last.x : last.x + 5]
    assert tile[..., :3].any() and not tile[..., 3].any()
