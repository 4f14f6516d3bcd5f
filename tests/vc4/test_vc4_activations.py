"""Every activation compiles for the virtual VideoCore IV, and no byte is off by more than a step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from activation_texts import CHANNELS, TEXTS
from graphs import classifier, conv_node, input_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.tools import videocore
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.pixels import compare

SIZE = 12
MOST_DIFFERING = 0.01
"""Largest share of differing bytes: exp has 10 to 13 good bits there, and sums are truncated."""


def network_of_all_activations(rng: np.random.Generator) -> Graph:
    """Return a network of every activation, fused with a convolution and alone, and their sum.

    Activations without a value near 0 read a map that is far from 0, with positive weights.
    """
    body = [
        input_node(SIZE),
        conv_node(rng, "stem", ("image",), 3, CHANNELS, activation="sigmoid"),
        Node("away", "activation", ("stem",), {"function": "clip(0.25,2)"}),
    ]
    names = []
    for index, text in enumerate(TEXTS):
        endless = text in ("rsqrt", "reciprocal", "log") or text.startswith("power(-")
        source = "away" if endless else "stem"
        fused = conv_node(rng, f"fused-{index}", (source,), CHANNELS, CHANNELS, activation=text)
        if endless:
            fused = replace(fused, weights={name: np.abs(values) for name, values in fused.weights.items()})
        body += [fused, Node(f"alone-{index}", "activation", (source,), {"function": text})]
        names += [f"fused-{index}", f"alone-{index}"]
    while len(names) > 1:
        body.append(Node(f"sum-{len(body)}", "add", tuple(names[:8]), {"activation": "relu(1)"}))
        names = [*names[8:], body[-1].name]
    return classifier(rng, body, CHANNELS)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(3)]
    file = tmp_path_factory.mktemp("activations") / "activations.glslnn"
    bundle, _, _ = build(
        network_of_all_activations(rng), ["a", "b", "c"], options=Options(weights="uniform"), calibration=pictures
    )
    bundles.write(bundle, file)
    return file


def test_activations_compile_with_two_threads(path: Path, driver: Driver) -> None:
    _, measured = videocore.measure(path, driver)
    assert not measured.failures
    threads = {
        name: program.threads for name, program in measured.programs.items() if name.startswith(("fused", "alone"))
    }
    assert len(threads) >= len(TEXTS)
    assert set(threads.values()) == {2}, threads


@pytest.mark.exhaustive
def test_bytes_differ_by_a_step_at_most(path: Path, executor: Executor) -> None:
    for pixels in compare(path, executor, []):
        assert pixels.worst <= 1, pixels
        assert pixels.differing <= MOST_DIFFERING * pixels.values, pixels
