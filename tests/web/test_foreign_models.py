"""Bundles of .tflite and .onnx files in Chromium: their outputs have the bytes of the Python runner."""

from __future__ import annotations

from pathlib import Path

import foreign_models
import numpy as np
import pytest
from chromium import Page
from test_several import LOAD, RUN, flat
from web_site import Site

import glsl_infer


@pytest.mark.parametrize("name", foreign_models.EVERYWHERE)
def test_outputs_have_the_bytes_of_the_python_runner(blank: Page, site: Site, tmp_path: Path, name: str) -> None:
    _, bundle, _ = foreign_models.exported(name, tmp_path)
    inputs = foreign_models.picture(bundle)
    site.files[f"/{bundle.name}"] = bundle.read_bytes()
    blank.evaluate(LOAD, bundle.name)
    with glsl_infer.Session(bundle) as session:
        reference_output = session.run(inputs)
    results = blank.evaluate(RUN, flat(inputs))
    assert [result["name"] for result in results] == list(reference_output)
    for result in results:
        expected = np.asarray(reference_output[result["name"]], np.float32)
        assert np.array(result["data"], np.float32).tobytes() == expected.tobytes(), result["name"]
