"""Dilated max pooling: its padding value does not widen the range of the map."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_networks import File

from glsl_infer.compiler.build import Options, build
from glsl_infer.compiler.ranges.inputs import LOWEST
from glsl_infer.errors import ModelError
from glsl_infer.gl.context import Context
from glsl_infer.graph import Graph, reference
from glsl_infer.importers import onnx as importer
from glsl_infer.runtime.session import Session


def pool(offset: float) -> Graph:
    """Return a dilated 3x3 pooling with padding, of a map with values of both signs, or of -4 and less."""
    made = File(5)
    x = made.conv(made.input((1, 3, 12, 10)), 4)
    x = made.op("Add", [made.op("Tanh", [x], (1, 4, 12, 10)), made.constant(offset)], (1, 4, 12, 10))
    x = made.op("MaxPool", [x], (1, 4, 12, 10), kernel_shape=[3, 3], dilations=[2, 2], pads=[2] * 4, strides=[1, 1])
    made.output(x)
    return importer.load(made.model())


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


def test_without_pictures_it_is_refused() -> None:
    with pytest.raises(ModelError, match="--images"):
        build(pool(0.0), (), options=Options())
