"""Models converted to tfjs compute the results of their graphs, wherever their bundles store the weights."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import ranged
from chromium import Page
from graphs import classifier, conv_node, input_node
from numpy.typing import NDArray
from web_site import WEB, Site

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.graph import Graph, Node, reference

pytestmark = pytest.mark.exhaustive

SIZE = 12
LABELS = ("one", "two", "three")
AROUND = (1, 1, 1, 1)

RUN = """async (folder, way, size, bytes) => {
    const run = await (await import("/tfjs/wasm.js")).load(folder, way);
    const {shape, data} = await run({data: new Uint8Array(bytes), width: size, height: size});
    return {shape, data: Array.from(data)};
}"""


def graph() -> Graph:
    """A network with groups, a depthwise convolution, residuals, strides, paddings and calibrated ranges."""
    rng = np.random.default_rng(8)
    clips = {"padding": AROUND, "kernel": (3, 3)}
    body = [
        input_node(SIZE),
        conv_node(rng, "first", ("image",), 3, 10, kernel=(3, 3), padding=(0, 1, 2, 0), activation="relu"),
        conv_node(rng, "wider", ("first",), 10, 12, groups=2, activation="linear"),
        conv_node(rng, "each", ("wider", "wider"), 12, 12, groups=12, activation="relu(6)", **clips),
        conv_node(rng, "more", ("each",), 12, 64, kernel=(3, 2), strides=(2, 1), padding=(1, 0, 0, 1)),
        Node("shuffled", "channel_shuffle", ("more",), {"step": 8}),
        conv_node(rng, "grouped", ("shuffled", "more"), 64, 64, groups=16, **clips),
        Node("sum", "add", ("grouped", "shuffled"), {"activation": "linear"}),
    ]
    return classifier(rng, body, 64)


def picture(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)


def converted(folder: Path, *names: str) -> tuple[list[str], str]:
    """Convert models of a folder; return the names of the converted ones, and the messages about the others."""
    command = ["node", str(WEB / "tfjs/build.mjs"), str(folder), *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    *message, last = done.stdout.splitlines()
    return json.loads(last), "\n".join(message)


@pytest.mark.parametrize("weights", ["uniform", "texture", "baked"])
def test_tfjs_computes_the_graph(blank: Page, site: Site, tmp_path: Path, weights: str) -> None:
    (tmp_path / "models").mkdir()
    options = Options(weights=weights, weight_bits="16")
    bundle, _, _ = build(graph(), LABELS, options=options, calibration=[picture(seed) for seed in range(4)])
    bundles.write(bundle, tmp_path / "models/all.glslnn")
    assert converted(tmp_path, "all.glslnn") == (["all.glslnn"], "")
    for name in ("model.json", "weights.bin"):
        site.files[f"/{weights}/{name}"] = (tmp_path / "tfjs/all" / name).read_bytes()
    pixels = picture(9)
    bytes_ = np.dstack([pixels, np.full((SIZE, SIZE), 255, np.uint8)]).ravel().tolist()
    expected = reference.run(graph(), pixels, mode="float")
    for layout in ("split", "whole"):
        result = blank.evaluate(RUN, f"/{weights}", layout, SIZE, bytes_)
        assert result["shape"] == [len(LABELS)]
        # Dense weights have 16 bits in every bundle. In a texture, all weights have 16 bits here.
        assert np.abs(np.array(result["data"]) - expected).max() < 0.003 * np.ptp(expected), layout


def test_features_without_counterpart_in_tfjs_are_named(tmp_path: Path, dist: Path) -> None:
    (tmp_path / "models").mkdir()
    ranged.write_ranged(tmp_path / "models").rename(tmp_path / "models/other.glslnn")
    words = "layer 'image': an image whose numbers are not from 0 to 1 is not converted for tfjs"
    assert converted(tmp_path, "other.glslnn") == ([], f"web/dist/tfjs: other.glslnn: {words}")
