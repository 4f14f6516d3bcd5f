"""scripts/build/test_cpus.py: environments in which NumPy and Mesa compute as on other CPUs."""

from __future__ import annotations

import json
import os
import platform
import sys

import pytest
from command_line import run_python
from test_cpus import CPUS, environment, numpy_features, other_cpus

NUMPY_2_0 = ["SSE42", "AVX", "F16C", "FMA3", "AVX2", "AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_SPR"]
NUMPY_2_4 = ["X86_V3", "X86_V4", "AVX512_ICL", "AVX512_SPR"]
PRINT_CPU_FEATURES = "import json, test_cpus; print(json.dumps(test_cpus.numpy_features()[1]))"


@pytest.mark.parametrize(
    ("dispatched", "absent", "names", "disabled"),
    [
        (NUMPY_2_4, ["AVX512_SPR"], ["AVX2", "SSE4.2"], "X86_V4 AVX512_ICL"),
        (NUMPY_2_4, NUMPY_2_4[1:], ["SSE4.2", "AVX"], "X86_V3"),
        (NUMPY_2_4, NUMPY_2_4, ["AVX2", "SSE4.2"], None),
        (NUMPY_2_0, ["AVX512_SPR"], ["AVX2", "SSE4.2"], "AVX512F AVX512CD AVX512_SKX"),
        (NUMPY_2_0, NUMPY_2_0[5:], ["SSE4.2", "AVX"], "AVX F16C FMA3 AVX2"),
    ],
)
def test_only_features_of_this_cpu_are_disabled(
    dispatched: list[str], absent: list[str], names: list[str], disabled: str | None
) -> None:
    has = {name: name not in absent for name in dispatched}
    cpus = other_cpus(CPUS["x86_64"], dispatched, has)
    assert [cpu.name for cpu in cpus] == names
    assert environment(cpus[0], dispatched, has).get("NPY_DISABLE_CPU_FEATURES") == disabled


def test_numpy_accepts_the_variables_and_disables_the_features() -> None:
    dispatched, has = numpy_features()
    for cpu in other_cpus(CPUS[platform.machine()], dispatched, has):
        variables = environment(cpu, dispatched, has)
        done = run_python(
            "-W", "error", "-c", PRINT_CPU_FEATURES, check=True, **variables, PYTHONPATH=os.pathsep.join(sys.path)
        )
        features = json.loads(done.stdout)
        assert not any(features[name] for name in variables.get("NPY_DISABLE_CPU_FEATURES", "").split())
        assert done.stderr == ""
