"""Reductions and normalisations compile for the virtual VideoCore IV; no value is off by more than a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from graphs import classifier, conv_node, input_node, pool_node

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node
from glsl_infer.tools import videocore
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.pixels import compare

pytestmark = pytest.mark.exhaustive

SIZE = 12
MOST_DIFFERING = 0.01
"""Largest share of differing values: exp has 10 to 13 good bits there, and sums are truncated."""

ONE_DRAW = ("mean", "deviation", "pool")
"""Layers that draw single pixels and unroll the map.

One thread is enough, because no other pixel could run in parallel.
"""

WIDE = ("layer", "shares", "most")


def network_of_all_statistics(rng: np.random.Generator, channels: int) -> Graph:
    """Return a network of all these layers on one map, and their sum."""
    gamma = tuple(rng.normal(0.5, 1.0, channels).tolist())
    both, window = ("mean", "deviation"), {"pool": (3, 3), "strides": (1, 1), "padding": (1, 1, 1, 1)}
    body = [
        input_node(SIZE),
        conv_node(rng, "stem", ("image",), 3, channels, activation="tanh"),
        Node("layer", "channel_norm", ("stem",), {"gamma": gamma, "beta": gamma}),
        Node("rms", "channel_norm", ("stem",), {"kind": "rms"}),
        Node("unit", "channel_norm", ("stem",), {"kind": "unit", "epsilon": 0.0}),
        Node("shares", "channel_softmax", ("stem",)),
        Node("smallest", "min_pool", ("stem",), window),
        pool_node("mean", "stem"),
        Node("deviation", "global_deviation", ("stem",)),
        *(
            Node(f"group-{name}", "group_statistics", both, {"groups": channels // 5, "statistic": name})
            for name in both
        ),
        Node("norm", "map_norm", ("stem", "group-mean", "group-deviation"), {"gamma": gamma, "beta": gamma}),
        Node("local", "local_response_norm", ("stem",), {"beta": 0.75, "alpha": 0.2}),
        Node("number", "channel_argmax", ("stem",)),
        Node("least", "channel_extreme", ("stem",), {"operation": "min"}),
        Node("both", "binary", ("number", "least"), {"operation": "multiply"}),
        Node("some", "add", ("layer", "rms", "unit", "shares", "smallest", "norm", "local"), {"activation": "relu(1)"}),
        Node("all", "binary", ("some", "both"), {"operation": "maximum"}),
    ]
    return classifier(rng, body, channels)


@pytest.fixture(scope="module", params=[10, 100])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8) for _ in range(3)]
    file = tmp_path_factory.mktemp("statistics") / "statistics.glslnn"
    bundle, _, _ = build(
        network_of_all_statistics(rng, request.param), ["a", "b", "c"], options=Options(), calibration=pictures
    )
    bundles.write(bundle, file)
    return file


def test_statistics_compile_with_two_threads(path: Path, driver: Driver) -> None:
    _, measured = videocore.measure(path, driver)
    assert not measured.failures
    threads = {name: entry.threads for name, entry in measured.programs.items() if not name.startswith(ONE_DRAW)}
    assert set(threads.values()) == {2}, threads


def test_numbers_differ_by_a_step_at_most(path: Path, executor: Executor) -> None:
    for pixels in compare(path, executor, []):
        assert pixels.worst <= 1, pixels
        assert pixels.differing <= MOST_DIFFERING * pixels.values, pixels


@pytest.mark.parametrize(("channels", "size", "bits"), [(96, 8, 16), (384, 4, 8)])
def test_wide_maps_compile_with_two_threads(
    driver: Driver, tmp_path: Path, channels: int, size: int, bits: int
) -> None:
    """Wide maps compile with two threads, as of ConvNeXt.

    Each draw reads every slice twice, and its tiles are in many rows and columns.
    """
    rng = np.random.default_rng(0)
    gamma = tuple(rng.normal(0.5, 1.0, channels).tolist())
    body = [
        input_node(size),
        conv_node(rng, "stem", ("image",), 3, channels, activation="tanh"),
        Node("layer", "channel_norm", ("stem",), {"gamma": gamma, "beta": gamma}),
        Node("shares", "channel_softmax", ("layer",)),
        Node("most", "channel_extreme", ("shares",), {"operation": "max"}),
        conv_node(rng, "behind", ("most",), 1, 4),
    ]
    pictures = [rng.integers(0, 256, (size, size, 3), np.uint8)]
    options = Options(precision="8", precision_for={"stem": bits, "layer": bits}, memory="naive", uniform_vectors=3500)
    bundle, _, _ = build(classifier(rng, body, 4), ["a", "b", "c"], options=options, calibration=pictures)
    bundles.write(bundle, tmp_path / "wide.glslnn")
    _, measured = videocore.measure(tmp_path / "wide.glslnn", driver)
    assert not measured.failures
    threads = {name: entry.threads for name, entry in measured.programs.items() if name.startswith(WIDE)}
    assert len(threads) == len(WIDE) and set(threads.values()) == {2}, threads


@pytest.mark.parametrize("size", [5, 16, 20, 28, 61])
def test_a_deviation_has_two_threads(size: int, driver: Driver, tmp_path: Path) -> None:
    """A deviation has two threads if its loops stay, if both are unrolled, or only the inner one (16 to 27 columns)."""
    rng = np.random.default_rng(0)
    nodes = [
        input_node(size),
        conv_node(rng, "a", ("image",), 3, 8, activation="sigmoid"),
        Node("n", "global_deviation", ("a",)),
    ]
    graph = Graph("g", nodes, "n")
    bundle, _, _ = build(graph, list("abcdefgh"), options=Options())
    bundles.write(bundle, tmp_path / "deviation.glslnn")
    _, measured = videocore.measure(tmp_path / "deviation.glslnn", driver)
    assert not measured.failures
    assert measured.programs["n"].threads == 2
