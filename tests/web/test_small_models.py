"""Ten of the models of tests/models in Chromium: the outputs have the bytes of the Python runner."""

from __future__ import annotations

import numpy as np
import pytest
import small_models
from chromium import Page
from test_several import LOAD, RUN, flat
from web_site import Site

import glsl_infer
from models import RUN_EVERYWHERE

BESIDE_A_TIE = {"xception_block"}
"""Models with a sum so near a tie that SwiftShader and llvmpipe store different steps."""


@pytest.mark.parametrize("name", RUN_EVERYWHERE)
def test_outputs_have_the_bytes_of_the_python_runner(blank: Page, site: Site, name: str) -> None:
    exported = small_models.exported(name)
    site.files[f"/{exported.path.name}"] = exported.path.read_bytes()
    blank.evaluate(LOAD, exported.path.name)
    with glsl_infer.Session(exported.path) as session:
        reference_output = session.run(exported.inputs)
    results = blank.evaluate(RUN, flat(exported.inputs))
    assert [result["name"] for result in results] == list(reference_output)
    for result in results:
        expected = np.asarray(reference_output[result["name"]], np.float32)
        assert tuple(result["shape"]) == expected.shape
        data = np.array(result["data"], np.float32)
        if name in BESIDE_A_TIE:
            assert np.abs(data.reshape(expected.shape) - expected).max() <= 0.001 * np.abs(expected).max()
        else:
            assert data.tobytes() == expected.tobytes(), result["name"]
