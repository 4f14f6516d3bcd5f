"""Every shipped model in a real browser: layers match the reference, and the result matches the Python runner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chromium import Page
from web_site import ROOT

import glsl_infer
from glsl_infer import bundle as bundles
from glsl_infer.program.layout import FixedPoint

MODELS = sorted((ROOT / "models").glob("*.glslnn"))

SELF_CHECK = """async (url) => {
    const model = await lib.GlslInfer.load(url);
    const errors = model.session.selfcheck();
    const {width, height} = model.session.picture.value;
    const pixels = new Uint8Array(4 * width * height);
    for (let i = 0; i < pixels.length; i++) pixels[i] = i % 4 === 3 ? 255 : (i * i + 31 * i) % 251;
    const output = await model.run(pixels);
    const statistics = model.session.statistics();
    model.close();
    return {errors, shape: output.shape, data: Array.from(output.data.subarray(0, 4096)), statistics};
}"""


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_layer_is_within_its_tolerance_and_the_result_is_the_python_runners(blank: Page, path: Path) -> None:
    result: dict[str, Any] = blank.evaluate(SELF_CHECK, f"/models/{path.name}")
    bundle = bundles.read(path)
    assert [error["layer"] for error in result["errors"]] == [layer.layer for layer in bundle.manifest.probe.layers]
    for error, allowed in zip(result["errors"], bundle.manifest.probe.layers):
        assert error["worst"] <= allowed.max_error, error
        assert error["mean"] <= allowed.mean_error, error
    size = bundle.manifest.input.height
    places = np.arange(4 * size * size)
    pixels = ((places * places + 31 * places) % 251).astype(np.uint8).reshape(size, size, 4)[..., :3]
    with glsl_infer.Session(bundle) as session:
        expected = session.run(np.ascontiguousarray(pixels))
        statistics = session.statistics()
    assert result["shape"] == list(expected.shape)
    output = bundle.manifest.output.values[0]
    error = bundle.manifest.probe.outputs[0].max_error
    allowed_step = error if isinstance(output, FixedPoint) else 3 * max(output.scales) / 255
    np.testing.assert_allclose(result["data"], expected.ravel()[:4096], rtol=0, atol=allowed_step)
    assert result["statistics"]["passes"] == statistics.passes
    assert result["statistics"]["jobs"] == statistics.jobs
    assert result["statistics"]["textureBytes"] == statistics.texture_bytes


def test_models_are_there() -> None:
    assert len(MODELS) >= 2
