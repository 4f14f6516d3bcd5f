"""Windows that are dilated, padded, larger than the map, or end at a tile's edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node
from layer_check import TOLERANCE, allowed, layer_error, make_bundle, stored_inputs
from onnx_networks import File
from pairwise import each_of

from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges.inputs import LOWEST
from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, Node, reference
from glsl_infer.importers import onnx as importer
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.session import Session

RATES = ((6, 6), (12, 9), (18, 18))


def pyramid(size: int, channels: int) -> Graph:
    """Return three rates and a plain 1x1 convolution on a map with ``channels`` channels, and their concatenation."""
    rng = np.random.default_rng(size)
    body = [input_node(size), conv_node(rng, "feed", ("image",), 3, channels)]
    for index, (down, across) in enumerate(RATES):
        options = {"kernel": (3, 3), "padding": (down, down, across, across), "dilations": (down, across)}
        body.append(conv_node(rng, f"rate{index}", ("feed",), channels, 4, **options))
    branches = tuple(f"rate{index}" for index in range(len(RATES)))
    body += [Node("joined", "concat", branches), conv_node(rng, "last", ("joined",), 4 * len(RATES), 5)]
    return classifier(rng, body, 5)


@pytest.mark.drivers("all")
@each_of(
    ("weights, layout", [("baked", "atlas"), ("uniform", "planar"), ("texture", "atlas")]),
    ("size, channels", [(21, 12), (8, 12), (13, 36)]),
)
def test_a_pyramid_of_rates(context: Context, size: int, channels: int, weights: str, layout: str) -> None:
    bundle = make_bundle(optimize(pyramid(size, channels)), weights, layout)
    rng = np.random.default_rng(1)
    with Session(bundle, context=context) as session:
        names = [node.name for node in bundle.graph.nodes if node.name.startswith("rate")]
        errors = {name: layer_error(session, name, stored_inputs(bundle, name, rng)) for name in names}
    assert all(error <= allowed(session.bundle, name) for name, error in errors.items()), errors


@pytest.mark.drivers("all")
def test_a_gutter_is_as_wide_as_the_taps_over_the_map_need() -> None:
    def gutter(size: int) -> int:
        value = make_bundle(optimize(pyramid(size, 12))).values["feed"]
        assert isinstance(value, FeatureMap)
        return value.gutter

    assert [gutter(size) for size in (6, 8, 10, 13, 19)] == [0, 6, 9, 12, 18]


@pytest.mark.drivers("all")
@pytest.mark.parametrize("weights", ["baked", "uniform"])
def test_an_image_with_a_gutter_other_than_zero_is_exact(context: Context, weights: str) -> None:
    rng = np.random.default_rng(3)
    image = input_node(9).with_attrs(scales=(2.0,), zeros=(127.5,))
    node = conv_node(rng, "n", ("image",), 3, 5, kernel=(3, 3), padding=(4, 4, 2, 2), dilations=(4, 2))
    bundle = make_bundle(classifier(rng, [image, node], 5), weights)
    assert bundle.graph.by_name["n"].attrs["alpha"]
    with Session(bundle, context=context, selfcheck=True) as session:
        assert layer_error(session, "n", stored_inputs(bundle, "n", rng)) <= TOLERANCE


def pool(offset: float) -> Graph:
    """Return a dilated 3x3 pooling with padding, of a map with values of both signs, or of -4 and less."""
    file = File(5)
    x = file.conv(file.input((1, 3, 12, 10)), 4)
    x = file.op("Add", [file.op("Tanh", [x], (1, 4, 12, 10)), file.constant(offset)], (1, 4, 12, 10))
    x = file.op("MaxPool", [x], (1, 4, 12, 10), kernel_shape=[3, 3], dilations=[2, 2], pads=[2] * 4, strides=[1, 1])
    file.output(x)
    return importer.load(file.model())


@pytest.mark.parametrize("offset", [0.0, -5.0])
def test_all_steps_are_the_maps(context: Context, offset: float) -> None:
    graph = pool(offset)
    rng = np.random.default_rng(2)
    pictures = [{graph.input.name: rng.integers(0, 256, (12, 10, 3)).astype(np.uint8)} for _ in range(4)]
    bundle, _, _ = build(graph, (), options=Options(precision="8"), calibration=pictures)
    assert min(node.attrs["value"] for node in bundle.graph.nodes if node.op == "constant_padding") > LOWEST
    with Session(bundle, context=context, cache=False) as session:
        for picture in pictures:
            (floats,) = reference.run(graph, picture, mode="float").values()
            drawn = session.run(picture[graph.input.name])
            assert np.abs(drawn - floats).max() < 0.03 * max(np.ptp(floats), np.abs(floats).max())


def test_a_pyramid_without_calibration_images_is_refused() -> None:
    with pytest.raises(ModelError, match="--images"):
        build(pool(0.0), (), options=Options())


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"enlarged by {y} and {x}": ("upsample_bilinear", {"size": (y, x)}) for y, x in ((2, 2), (3, 5), (1, 4), (7, 6))
    },
    "resized": ("resize", {"size": (13, 5)}),
    "largest of padded windows": ("max_pool", {"pool": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)}),
    "means of padded windows": ("average_pool", {"pool": (3, 2), "strides": (1, 2), "padding": (1, 2, 0, 1)}),
    "largest of many": ("max_pool", {"pool": (9, 9), "strides": (1, 1), "padding": (4, 4, 4, 4)}),
    "means of many": ("average_pool", {"pool": (8, 8), "strides": (1, 1), "padding": (4, 3, 3, 4)}),
    "means of a row's": ("average_pool", {"pool": (1, 8), "strides": (1, 2), "padding": (0, 0, 3, 4)}),
    **{mode: ("mirror_padding", {"padding": (1, 2, 3, 0), "mode": mode}) for mode in ("reflect", "symmetric", "edge")},
}


@pytest.mark.drivers("all")
@each_of(("channels", [20, 22]), ("case", CASES))
def test_all_slices_are_one_draw(context: Context, case: tuple[str, dict[str, Any]], channels: int) -> None:
    rng = np.random.default_rng(channels)
    operator, attrs = case
    body = [input_node(9), conv_node(rng, "a", ("image",), 3, channels), Node("n", operator, ("a",), attrs)]
    bundle = make_bundle(classifier(rng, body, channels), pictures=[rng.integers(0, 256, (9, 9, 3), np.uint8)])
    drawn = [len(entry.quads) for entry in bundle.manifest.passes if entry.layer == "n"]
    assert drawn == [-(-channels // 4)]
    with Session(bundle, context=context) as session:
        assert layer_error(session, "n", stored_inputs(bundle, "n", rng)) <= TOLERANCE
