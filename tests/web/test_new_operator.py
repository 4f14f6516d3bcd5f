"""The browser's runner, unchanged, computes the operator that CONTRIBUTING.md adds."""

from __future__ import annotations

from pathlib import Path

import new_operator
import numpy as np
from chromium import Page
from web_site import Site

RUN = """async (pixels) => {
    const model = await lib.GlslInfer.load("/new_operator.glslnn", undefined, {selfcheck: true});
    const layers = Array.from(model.session.layers(Uint8Array.from(pixels)), ({layer}) => layer);
    const {data} = await model.run(Uint8Array.from(pixels));
    return {layers, logits: [...data]};
}"""


def test_the_new_operator_runs_in_the_browser(blank: Page, site: Site, tmp_path: Path) -> None:
    project = new_operator.written(tmp_path)
    site.files["/new_operator.glslnn"] = project.bundle.read_bytes()
    result = blank.evaluate(RUN, project.picture.ravel().tolist())
    assert "mirrored" in result["layers"]
    np.testing.assert_allclose(result["logits"], project.output, rtol=0, atol=project.tolerance)
