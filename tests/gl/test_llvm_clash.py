"""TensorFlow next to Mesa's LLVM is refused with a message; separate processes, because the other order crashes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from glsl_infer.gl.context import Context
from glsl_infer.support.llvm_clash import mesa_llvm_loaded

FIRST_TENSORFLOW = """
import sys, types
sys.modules["tensorflow"] = types.ModuleType("tensorflow")  # as if imported: the real one would crash the process
from glsl_infer.errors import ContextError
from glsl_infer.gl.context import Context
try:
    Context()
except ContextError as error:
    print(error)
"""

FIRST_OPENGL = """
from glsl_infer.gl.context import Context
from glsl_infer.errors import InputError
context = Context()
from glsl_infer.importers import keras
try:
    keras.load(__file__)
except InputError as error:
    print(error)
"""


def run(code: str, tmp_path) -> str:
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


pytestmark = pytest.mark.usefixtures("mesa_with_llvm")


@pytest.fixture
def mesa_with_llvm(context: Context) -> None:
    if not mesa_llvm_loaded():
        pytest.skip("this driver brings no LLVM, so there is nothing to clash with")


def test_a_context_after_tensorflow(tmp_path) -> None:
    assert "crash in one process" in run(FIRST_TENSORFLOW, tmp_path)


def test_keras_after_a_context(tmp_path) -> None:
    assert "crash in one process" in run(FIRST_OPENGL, tmp_path)
