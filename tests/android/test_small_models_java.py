"""Ten of the models of tests/models in Java: every layer and every output have the bytes of the Python runner."""

from __future__ import annotations

from pathlib import Path

import pytest
import small_models
from jvm import Jvm
from test_same_bytes import assert_same_layers

import glsl_infer
from models import RUN_EVERYWHERE


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RUN_EVERYWHERE)
def test_java_computes_the_same_layers_and_outputs(runner: Jvm, tmp_path: Path, name: str) -> None:
    exported = small_models.exported(name)
    assert_same_layers(runner, exported.path, exported.inputs, tmp_path)
    results = runner.frame(exported.path, exported.inputs, tmp_path)
    with glsl_infer.Session(exported.path) as session:
        expected = session.run(exported.inputs)
    assert list(results) == list(expected)
    for output, numbers in expected.items():
        assert results[output].tobytes() == numbers.astype("<f4").tobytes(), output
