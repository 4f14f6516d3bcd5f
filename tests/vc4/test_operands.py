"""Operations on two maps with a range per channel keep a VideoCore IV's two threads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Node
from glsl_infer.tools import videocore
from glsl_infer.tools.videocore import Driver

SIZE, CHANNELS = 8, 16


@pytest.mark.parametrize(
    ("operation", "bits"), [("add", 8), ("add", 16), ("subtract", 8), ("subtract", 16), ("multiply", 8)]
)  # a 16-bit product fetches 18 texels at once: one thread
def test_operations_on_two_maps_have_two_threads(driver: Driver, tmp_path: Path, operation: str, bits: int) -> None:
    check(driver, tmp_path, Node("n", "binary", ("a", "b"), {"operation": operation}), bits)


@pytest.mark.parametrize("activation", ["linear", "relu", "sigmoid"])
def test_two_threads_of_sums(driver: Driver, tmp_path: Path, activation: str) -> None:
    check(driver, tmp_path, Node("n", "add", ("a", "b"), {"activation": activation}), before="relu")


def check(driver: Driver, tmp_path: Path, node: Node, bits: int = 8, before: str = "linear") -> None:
    rng = np.random.default_rng(1)
    body = [input_node(SIZE)]
    body += [conv_node(rng, name, ("image",), 3, CHANNELS, activation=before) for name in "ab"]
    body += [
        node,
        Node("largest", "max_pool", (node.name,)),
    ]  # means would read the terms of a sum, which is then not drawn
    pictures = [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(4)]
    path = tmp_path / "binary.glslnn"
    options = Options(precision="8", precision_for={"n": bits})
    built, _, _ = build(classifier(rng, body, CHANNELS), ["a", "b", "c"], options=options, calibration=pictures)
    bundles.write(built, path)
    bundle, measured = videocore.measure(path, driver)
    programs = {entry.program for entry in bundle.manifest.passes if entry.layer == "n"}
    assert {measured.programs[program].threads for program in programs} == {2}
