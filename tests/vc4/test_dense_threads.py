"""Dense layers in a single pass keep a VideoCore IV's two threads, with each version of Mesa."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import conv_node, dense_node, input_node, pool_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph
from glsl_infer.ops.dense_at_once import MOST_INPUTS
from glsl_infer.tools import videocore
from glsl_infer.tools.videocore import Driver

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("inputs", [8, 16, 20, 32, 40, MOST_INPUTS])
def test_dense_layers_have_two_threads(each_driver: Driver, tmp_path: Path, inputs: int) -> None:
    rng = np.random.default_rng(0)
    body = (
        input_node(4),
        conv_node(rng, "c", ("image",), 3, inputs),
        pool_node("mean", "c"),
        dense_node(rng, "dense", "mean", inputs, 32, activation="sigmoid"),
        dense_node(rng, "end", "dense", 32, 2),
    )
    picture = rng.integers(0, 256, (4, 4, 3), np.uint8)
    bundle, _, _ = build(Graph("gates", body, "end"), ("a", "b"), options=Options(), calibration=[picture])
    path = tmp_path / "gates.glslnn"
    bundles.write(bundle, path)
    _, measured = videocore.measure(path, each_driver)
    names = {entry.program for entry in bundle.manifest.passes if entry.layer in ("dense", "end")}
    assert not measured.failures
    assert {measured.programs[name].threads for name in names} == {2}
