"""The start of commands: delayed modules, with a package of the same shape in NumPy's place, and garbage collection."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from glsl_infer.support.fast_start import DELAYED

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name.rpartition(".")[2] for name in DELAYED if name.startswith("numpy.") and "newdocs" not in name]

BEGIN = "from glsl_infer.support import fast_start\nfast_start.begin()\nimport numpy\n"


@pytest.fixture
def numpy_1(tmp_path: Path) -> Path:
    """Return the folder of a package numpy that imports all its submodules; each prints its name when executed."""
    package = tmp_path / "numpy"
    package.mkdir()
    (package / "__init__.py").write_text("".join(f"from . import {name}\n" for name in (*NAMES, "linalg")))
    for name in (*NAMES, "linalg"):
        (package / f"{name}.py").write_text(f"print('executed {name}')\n")
    (package / "random.py").unlink()
    (package / "random").mkdir()
    (package / "random" / "__init__.py").write_text(
        "print('executed random')\nfrom . import bits\nimport numpy.random as itself\n"
        "assert not hasattr(itself, 'rng')\n__all__ = ['rng']\ndef rng(): return bits.one\n"
    )
    (package / "random" / "bits.py").write_text("one = 1\n")
    return tmp_path


def run(folder: Path, code: str) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
    words = [sys.executable, "-c", BEGIN + code]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


def test_other_submodules_are_executed_at_once(numpy_1: Path) -> None:
    assert run(numpy_1, "") == ["executed linalg"]


@pytest.mark.parametrize(
    "use",
    [
        "print(numpy.random.rng())",
        "from numpy.random import rng; print(rng())",
        "from numpy.random import *; print(rng())",
        "import numpy.random; print(numpy.random.rng())",
        "print(int('rng' in dir(numpy.random)))",
    ],
)
def test_a_delayed_module_is_executed_once_at_its_first_use(numpy_1: Path, use: str) -> None:
    assert run(numpy_1, f"{use}\n{use}") == ["executed linalg", "executed random", "1", "1"]


def test_threads_wait_until_the_module_is_complete(numpy_1: Path) -> None:
    bits = numpy_1 / "numpy" / "random" / "bits.py"
    bits.write_text("import time\ntime.sleep(0.2)\none = 1\n")
    threads = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    print(sum(pool.map(lambda _: numpy.random.rng(), range(4))))\n"
    )
    assert run(numpy_1, threads) == ["executed linalg", "executed random", "4"]


def test_an_executed_module_is_an_ordinary_one(numpy_1: Path) -> None:
    shown = "numpy.random.rng\nprint(type(numpy.random).__name__, type(numpy.random.__loader__).__name__)"
    assert run(numpy_1, shown)[2:] == ["module SourceFileLoader"]
    assert run(numpy_1, "print(numpy.random.bits.one)")[2:] == ["1"]


def test_modules_outside_numpy_are_delayed_only_while_it_is_imported(numpy_1: Path) -> None:
    with (numpy_1 / "numpy" / "__init__.py").open("a") as file:
        file.write("import ast, sys\n")
    shown = "print(type(sys.modules['ast']).__name__, ast.literal_eval('[1]'), type(ast).__name__)"
    assert run(numpy_1, f"import sys, ast\n{shown}")[1:] == ["_Delayed [1] module"]
    before = f"import ast, sys\nfrom glsl_infer.support import fast_start\nfast_start.begin()\nimport numpy\n{shown}"
    words = [sys.executable, "-c", before]
    environment = {**os.environ, "PYTHONPATH": f"{numpy_1}:{ROOT}"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["module [1] module"]


def test_garbage_of_a_start_is_collected_later_than_that_of_frames(numpy_1: Path) -> None:
    ring = (
        "import gc, weakref\nclass Ring: pass\nring = Ring()\nring.itself = ring\nseen = weakref.ref(ring)\ndel ring\n"
    )
    objects = "few = [[] for _ in range(10_000)]\nprint(seen() is None)"
    usual = "print(gc.get_threshold()[0] < 10_000)"
    assert run(numpy_1, ring + objects)[-1] == "False"
    assert run(numpy_1, f"fast_start.end()\n{ring}{objects}\n{usual}")[-2:] == ["True", "True"]
    assert run(numpy_1, f"fast_start.end()\nfast_start.end()\n{ring}{objects}\n{usual}")[-2:] == ["True", "True"]


def test_a_missing_attribute_is_an_error(numpy_1: Path) -> None:
    assert run(numpy_1, "print(hasattr(numpy.random, 'nothing'), hasattr(numpy.fft, 'nothing'))")[-1] == "False False"


def test_an_imported_numpy_stays_as_it_is(numpy_1: Path) -> None:
    code = "import sys, numpy\nfrom glsl_infer.support import fast_start\nbefore = sys.meta_path[:]\n"
    code += "import gc\nfast_start.begin()\nprint(sys.meta_path == before and gc.get_threshold()[0] < 10_000)"
    words = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": f"{numpy_1}:{ROOT}"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"
