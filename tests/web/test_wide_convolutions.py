"""Convolutions over many channels with weights in a texture: Chromium computes the bytes of the Python runner.

Unrolled fetches would crash its GPU process.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chromium import Page
from graphs import classifier, conv_node, input_node
from test_several import LOAD, RUN, flat
from web_site import Site

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.compiler import lower
from glsl_infer.compiler.assemble import to_bundle
from glsl_infer.compiler.ranges import prepare
from glsl_infer.lowering import weight_bytes
from glsl_infer.lowering.target import Target

FILTERS, SIZE = 64, 7


@pytest.mark.parametrize("channels, noise", [(1280, np.inf), (512, 0.0)], ids=["in bytes", "in 16 bits"])
def test_wide_convolutions_store_pythons_bytes(
    blank: Page, site: Site, tmp_path: Path, channels: int, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weight_bytes, "MOST_NOISE", noise)
    rng = np.random.default_rng(1)
    feed, wide = conv_node(rng, "feed", ("image",), 3, channels), conv_node(rng, "wide", ("feed",), channels, FILTERS)
    graph = prepare(classifier(rng, [input_node(SIZE), feed, wide], FILTERS)).graph
    bundle = to_bundle(lower.to_program(graph, Target(weights="texture")), ["a", "b", "c"])
    assert [len(entry.quads) for entry in bundle.manifest.passes if entry.layer == "wide"] == [FILTERS // 4]
    path = tmp_path / f"wide-{channels}.glslnn"
    bundles.write(bundle, path)
    site.files[f"/{path.name}"] = path.read_bytes()
    inputs = {"image": rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)}
    with glsl_infer.Session(path) as session:
        expected = np.asarray(session.run(inputs)["dense"], np.float32)
    blank.evaluate(LOAD, path.name)
    (result,) = blank.evaluate(RUN, flat(inputs))
    assert np.array(result["data"], np.float32).tobytes() == expected.tobytes()
