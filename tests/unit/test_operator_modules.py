"""Modules of ``--operator``: loaded from the current folder, without TensorFlow in the process that draws."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest

ROOT = Path(__file__).parents[2]
LOADS = (
    "import os, sys; from glsl_infer.cli.model_options import load_operators; "
    "load_operators(['of_mine:f'], draws={draws}); "
)


def loaded(folder: Path, module: str, *, draws: bool, then: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "of_mine.py").write_text(module, "utf-8")
    command = [sys.executable, "-c", LOADS.format(draws=draws) + then]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("KERAS_BACKEND", None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_module_with_a_keras_layer_brings_no_tensorflow_where_layers_are_drawn(tmp_path: Path) -> None:
    needs.installed("keras")
    module = "import keras\nclass F(keras.layers.Layer): pass\ndef f(x): return x\n"
    then = "assert 'keras' in sys.modules and 'tensorflow' not in sys.modules and 'KERAS_BACKEND' not in os.environ"
    done = loaded(tmp_path, module, draws=True, then=then)
    assert done.returncode == 0, done.stderr


def test_a_module_that_imports_tensorflow_itself_is_refused_where_layers_are_drawn(tmp_path: Path) -> None:
    module = "import sys, types\nsys.modules['tensorflow'] = types.ModuleType('tensorflow')\ndef f(x): return x\n"
    assert loaded(tmp_path, module, draws=False).returncode == 0
    assert "separate module" in loaded(tmp_path, module, draws=True).stderr


def test_a_process_of_ours_finds_modules_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "of_mine.py").write_text("def f(x): return x\n", "utf-8")
    code = "import sys; sys.path.remove(''); from glsl_infer.cpu import custom; custom.load_all(['of_mine:f'])"
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
