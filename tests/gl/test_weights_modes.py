"""Baked and uniform weights give the same bytes; weights in a texture are rounded, and drawn at once."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import make_bundle

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph
from glsl_infer.runtime.session import Session

pytestmark = pytest.mark.drivers


def network(seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    same = (1, 1, 1, 1)
    body = [
        input_node(13),
        conv_node(rng, "stem", ("image",), 3, 32, kernel=(5, 5), strides=(2, 2)),
        conv_node(rng, "pw", ("stem",), 32, 32),
        conv_node(rng, "dw", ("pw", "stem"), 32, 32, kernel=(3, 3), groups=8, padding=same),
        conv_node(rng, "wide", ("dw",), 32, 48, kernel=(2, 2), groups=2),
    ]
    return classifier(rng, body, 48)


def test_every_texture_is_the_same(context: Context) -> None:
    graph = network(0)
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (13, 13, 3), np.uint8) for _ in range(3)]
    found = {}
    for mode in ("baked", "uniform"):
        made = make_bundle(graph, mode, memory="naive")  # every layer's texels are still there at the end
        with Session(made, context=context) as session:
            names = [texture.name for texture in session.bundle.manifest.textures if texture.kind == "target"]
            found[mode] = [
                (session.run(picture).tobytes(), *(session.read_texture(name).tobytes() for name in names))
                for picture in pictures
            ]
    if "Mesa" in context.gl.text(GL.GL_VERSION) or "Mesa" in context.gl.text(GL.GL_VENDOR):
        assert found["baked"] == found["uniform"]
    else:  # another compiler may fuse products and sums of constants, and be off by a step near a tie
        for one, other in zip(found["baked"], found["uniform"]):
            for a, b in zip(one[1:4], other[1:4]):
                assert np.abs(np.frombuffer(a, np.uint8).astype(int) - np.frombuffer(b, np.uint8)).max() <= 2
    assert len(set(found["baked"])) == len(pictures), "different pictures must give different results"


def test_a_texture_serves_all_slices_with_one_draw() -> None:
    made = make_bundle(network(1), "texture")
    assert [one.layer for one in made.manifest.passes][:4] == ["stem", "pw", "dw", "wide"]
    assert [len(one.quads) for one in made.manifest.passes][:4] == [8, 8, 8, 12]


def test_layers_of_one_shape_share_a_program() -> None:
    rng = np.random.default_rng(3)
    body = [input_node(9), conv_node(rng, "feed", ("image",), 3, 32)]
    body += [conv_node(rng, f"pw{index}", (body[-1].name,), 32, 32) for index in range(4)]
    graph = classifier(rng, body, 32)
    for mode in ("uniform", "texture"):
        passes = make_bundle(graph, mode, memory="naive").manifest.passes
        assert len({one.program for one in passes if one.layer.startswith("pw")}) == 1


def test_planar_layers_have_no_texture_of_weights() -> None:
    for mode in ("auto", "texture"):
        made = make_bundle(network(1), mode, layout="planar")
        assert not [one for one in made.manifest.textures if one.name in ("stem.weights", "pw.weights", "wide.weights")]


def test_the_offset_in_a_picture_s_alpha_is_not_rounded() -> None:
    rng = np.random.default_rng(4)
    image = input_node(9).with_attrs(scales=(2.0,), zeros=(127.5,))
    body = [image, conv_node(rng, "padded", ("image",), 3, 8, kernel=(3, 3), padding=(1, 1, 1, 1))]
    made = make_bundle(classifier(rng, body, 8), "texture")
    assert made.graph.by_name["padded"].attrs["alpha"]
    assert len([one for one in made.manifest.passes if one.layer == "padded"]) == 2


def test_a_long_array_is_not_uniform_in_auto() -> None:
    rng = np.random.default_rng(2)
    body = [
        input_node(7),
        conv_node(rng, "feed", ("image",), 3, 32),
        conv_node(rng, "long", ("feed",), 32, 36, kernel=(3, 3)),
    ]
    graph = classifier(rng, body, 36)
    assert make_bundle(graph, "auto").manifest.limits.fragment_uniform_vectors < 120
    assert make_bundle(graph, "uniform").manifest.limits.fragment_uniform_vectors > 9 * 32
