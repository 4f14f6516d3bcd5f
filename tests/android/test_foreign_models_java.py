"""Bundles of .tflite and .onnx files in Java: every layer and every output have the bytes of the Python runner."""

from __future__ import annotations

from pathlib import Path

import foreign_models
import pytest
from jvm import Jvm
from test_same_bytes import assert_same_layers

import glsl_infer

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("name", foreign_models.EVERYWHERE)
def test_java_computes_the_same_layers_and_outputs(runner: Jvm, tmp_path: Path, name: str) -> None:
    _, bundle, _ = foreign_models.exported(name, tmp_path)
    inputs = foreign_models.picture(bundle)
    assert_same_layers(runner, bundle, inputs, tmp_path)
    results = runner.frame(bundle, inputs, tmp_path)
    with glsl_infer.Session(bundle) as session:
        expected = session.run(inputs)
    assert list(results) == list(expected)
    for output, numbers in expected.items():
        assert results[output].tobytes() == numbers.astype("<f4").tobytes(), output
