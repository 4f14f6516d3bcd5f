#!/usr/bin/env python3
"""Run the tests with CPU-dependent results as on two other CPUs: ``python scripts/build/test_cpus.py``.

NumPy, OpenBLAS and oneDNN select their loops by the features of the CPU, and each loop sums in another order. Exports
must not depend on the order: choices must be equal, and errors within the same bounds. Environment variables of the
three libraries imitate an older CPU, with only those features that this CPU has and this NumPy selects between.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from glsl_infer.support.child_process import module_command

ROOT = Path(__file__).resolve().parents[2]

ENGINE = (
    "tests/gl/test_operator_table.py",
    "tests/gl/test_networks.py",
    "tests/unit/test_calibration.py",
    "tests/unit/test_references.py",
    "tests/unit/test_data_free.py",
    "tests/unit/test_expected_error.py",
    "tests/unit/test_precision.py",
    "tests/unit/test_range_choice.py",
    "tests/unit/test_ranges.py",
    "tests/unit/test_sensitivity.py",
    "tests/unit/test_weight_rounding.py",
    "tests/importers/test_onnx_operators.py",
    "tests/importers/test_onnx_quantized.py",
    "tests/importers/test_tflite_operators.py",
    "tests/importers/test_tflite_quantized.py",
)
KERAS = ("tests/keras/test_small_models.py", "tests/keras/test_import_geometry.py")
"""Tests that run in a separate process, because TensorFlow and Mesa's LLVM crash in a shared one."""


@dataclass(frozen=True)
class Cpu:
    """An older CPU.

    Attributes:
        name: name for the output.
        lacks: prefixes of NumPy's names of the features it does not have.
        core: OpenBLAS' name of the CPU.
        onednn: the newest instructions that oneDNN is allowed to use.
    """

    name: str
    lacks: tuple[str, ...]
    core: str
    onednn: str = ""


CPUS: Mapping[str, tuple[Cpu, ...]] = {
    "x86_64": (
        Cpu("AVX2", ("AVX512", "X86_V4"), "Haswell", "AVX2"),
        Cpu("SSE4.2", ("AVX", "FMA", "F16C", "X86_V3", "X86_V4"), "Nehalem", "SSE41"),
        Cpu("AVX", ("AVX2", "AVX512", "FMA3", "X86_V3", "X86_V4"), "Sandybridge", "AVX"),
    ),
    "aarch64": (Cpu("Armv8.0", ("ASIMD", "SVE"), "ARMV8"), Cpu("Neoverse N1", ("SVE",), "NEOVERSEN1")),
}
"""CPUs by ``platform.machine()``; the first two that differ from this CPU are used."""


def numpy_features() -> tuple[list[str], dict[str, bool]]:
    """Return the features that this NumPy selects between, and the presence of each feature on this CPU."""
    try:
        from numpy._core import _multiarray_umath as compiled
    except ImportError:  # NumPy 1
        from numpy.core import _multiarray_umath as compiled  # type: ignore[no-redef]
    return list(compiled.__cpu_dispatch__), dict(compiled.__cpu_features__)


def environment(cpu: Cpu, dispatched: Sequence[str], has: Mapping[str, bool]) -> dict[str, str]:
    """Return the variables that imitate a CPU; NumPy accepts only features that exist and that it selects between."""
    disabled = [name for name in dispatched if name.startswith(cpu.lacks) and has.get(name)]
    variables = {"OPENBLAS_CORETYPE": cpu.core}
    if disabled:
        variables["NPY_DISABLE_CPU_FEATURES"] = " ".join(disabled)
    if cpu.onednn:
        variables["ONEDNN_MAX_CPU_ISA"] = cpu.onednn
    return variables


def other_cpus(cpus: Sequence[Cpu], dispatched: Sequence[str], has: Mapping[str, bool], count: int = 2) -> list[Cpu]:
    """Return CPUs with other loops of NumPy than this one, and others if these are fewer than ``count``."""
    different = [cpu for cpu in cpus if "NPY_DISABLE_CPU_FEATURES" in environment(cpu, dispatched, has)]
    return [*different, *(cpu for cpu in cpus if cpu not in different)][:count]


def main() -> int:
    """Run the tests as each CPU; return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("arguments", nargs="*", help="for pytest, after --: for example -- -k prelu")
    arguments = parser.parse_args().arguments
    dispatched, has = numpy_features()
    failed = []
    for cpu in other_cpus(CPUS.get(platform.machine(), ()), dispatched, has):
        variables = environment(cpu, dispatched, has)
        print(f"as {cpu.name}:", *(f"{name}='{value}'" for name, value in variables.items()), flush=True)
        drawing = {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "llvmpipe", "LP_NUM_THREADS": "0"}
        for tests in (ENGINE, KERAS):
            done = subprocess.run(
                module_command("pytest", "--tier", "test", "-q", *tests, *arguments),
                cwd=ROOT,
                env={**os.environ, **drawing, **variables},
                check=False,
            )
            if done.returncode:
                failed.append(cpu.name)
    if failed:
        print(f"failed as: {', '.join(dict.fromkeys(failed))}; run one of them again with the variables above")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
