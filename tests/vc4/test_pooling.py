"""Poolings over windows of any size, and paddings, compile for a VideoCore IV and keep its two threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.resample import rounded
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver

pytestmark = pytest.mark.exhaustive

SIZE = 12
CASES = {
    "average 7x7, same": ("average_pool", {"pool": (7, 7), "strides": (1, 1), "padding": (3, 3, 3, 3)}),
    "average 12x4": ("average_pool", {"pool": (12, 4), "strides": (1, 2)}),
    "average 1x12": ("average_pool", {"pool": (1, 12), "strides": (1, 1)}),
    "average 12x12": ("average_pool", {"pool": (12, 12), "strides": (1, 1)}),
    "maximum 7x12, same": ("max_pool", {"pool": (7, 12), "strides": (1, 1), "padding": (3, 3, 5, 6)}),
    "L2 3x3, same": ("l2_pool", {"pool": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)}),
    "L2 7x7, same": ("l2_pool", {"pool": (7, 7), "strides": (1, 1), "padding": (3, 3, 3, 3)}),
    "a number around": ("constant_padding", {"padding": (1, 1, 2, 0), "value": 2.0}),
    "channels of zeros": ("channel_gather", {"channels": (-1, -1, -1, *range(8), *[-1] * 5)}),
}


SUMS = {"weighted rows": (0, 4), "weighted columns": (1, 4)}
"""Axis and taps of ``resample``."""


@pytest.mark.parametrize("op, attrs", CASES.values(), ids=CASES)
def test_pooling_has_two_threads(driver: Driver, tmp_path: Path, op: str, attrs: dict[str, object]) -> None:
    check(driver, tmp_path, Node("n", op, ("c",), attrs))


@pytest.mark.parametrize("axis, taps", SUMS.values(), ids=SUMS)
def test_two_threads_of_weighted_sums(driver: Driver, tmp_path: Path, axis: int, taps: int) -> None:
    attrs, weights = rounded(np.random.default_rng(1).normal(0, 0.3, (taps, 9)), np.zeros(9))
    check(driver, tmp_path, Node("n", "resample", ("c",), {"axis": axis, "first": (0,) * 9, **attrs}, weights))


@pytest.mark.parametrize(
    "bits, size", [("8", 6), ("8", 12), ("8", 19), ("8", 64), ("8", 129), ("16", 5), ("16", 7), ("16", 12), ("16", 64)]
)
def test_two_threads_of_means(driver: Driver, tmp_path: Path, bits: str, size: int) -> None:
    check(driver, tmp_path, Node("n", "global_average_pool", ("c",), {}), bits, size)


def check(driver: Driver, tmp_path: Path, node: Node, bits: str = "auto", size: int = SIZE) -> None:
    rng = np.random.default_rng(0)
    mean = node.op == "global_average_pool"  # needs channels with one range: others fetch theirs after the loop
    body = (input_node(size), conv_node(rng, "c", ("image",), 3, 8, activation="sigmoid" if mean else "linear"), node)
    picture = rng.integers(0, 256, (size, size, 3), np.uint8)
    labels = tuple("abcdefgh") if mean else ()
    bundle, _, _ = build(Graph("window", body, "n"), labels, options=Options(precision=bits), calibration=[picture])
    path = tmp_path / "window.glslnn"
    bundles.write(bundle, path)
    _, measured = vc4.measure(path, driver)
    names = {entry.program for entry in bundle.manifest.passes if entry.layer == "n"}
    assert not measured.failures
    assert {measured.programs[name].threads for name in names} == {2}
