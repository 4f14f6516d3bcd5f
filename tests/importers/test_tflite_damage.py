"""Well-formed files with wrong contents are refused or imported; ``fuzz.py tflite`` tries more such files."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from test_tflite_operators import CASES
from test_tflite_pieces import ON_CPU, free_sizes
from tflite_damage import damaged, rewire
from tflite_files import File, parsed

from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import GlslInferError
from glsl_infer.importers.tflite.reader import survey_of


def sources() -> list[bytes]:
    """Return a file for each supported operator, and one of open size."""
    files = [free_sizes()]
    for cases in (CASES, ON_CPU):
        for builds in cases.values():
            file = File()
            files.append(file.bytes([builds[0](file, file.conv(file.input((1, 8, 6, 3)), 4))]))
    return files


@pytest.mark.parametrize("seed", range(8))
def test_outputs_of_an_operator_without_inputs_stay_outputs(seed: int) -> None:
    operator = SimpleNamespace(inputs=None, outputs=[0, 1])
    graph = SimpleNamespace(operators=[operator], tensors=[None] * 2)
    rewire(np.random.default_rng(seed), None, graph)
    assert (len(operator.inputs), len(operator.outputs)) == (0, 2)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_structure(seed: int) -> None:
    files, imported = sources(), 0
    for index, data in enumerate(files):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                survey = survey_of(parsed(damaged(data, np.random.default_rng((seed, index)))))
                if survey.graph is not None and not survey.problems:
                    imported += len(optimize(survey.graph).nodes) > 0
        except GlslInferError as error:
            assert str(error)
    assert 0 < imported < len(files), "all are refused, or none"
