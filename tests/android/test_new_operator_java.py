"""The Java runner computes the operator that CONTRIBUTING.md adds, without knowing it."""

from __future__ import annotations

from pathlib import Path

import new_operator
import numpy as np
import pytest
from jvm import Jvm

pytestmark = pytest.mark.exhaustive


def test_a_new_operator_runs_without_a_change_of_the_runner(runner: Jvm, tmp_path: Path) -> None:
    project = new_operator.written(tmp_path)
    outputs, _ = runner.run(project.bundle, project.picture[np.newaxis], tmp_path)
    np.testing.assert_allclose(outputs[0], project.output, atol=project.tolerance)
    layers = runner.json("check", project.bundle)["layers"]
    assert layers == 5
