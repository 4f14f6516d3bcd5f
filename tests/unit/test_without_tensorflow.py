"""Without TensorFlow, Keras, JAX and PyTorch, everything works except export."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import glsl_infer

WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "keras", "jax", "torch"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Absent())
"""


def run_without(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a separate Python, from the folder of the package."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(glsl_infer.__file__).parent.parent,
        timeout=60,
    )


def test_the_hook_hides_them() -> None:
    names = ("tensorflow", "keras", "keras.layers", "jax", "torch")
    tries = "".join(f"try: import {name}\nexcept ModuleNotFoundError: print('{name}')\n" for name in names)
    assert run_without("\n" + tries).stdout.split() == [*names]


@pytest.mark.slow
def test_the_package_imports() -> None:
    done = run_without(
        "import glsl_infer, glsl_infer.tools.export, glsl_infer.importers.keras; print(glsl_infer.__all__)"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{glsl_infer.__all__}\n"


@pytest.mark.slow
def test_export_names_the_missing_package(tmp_path: Path) -> None:
    model, labels, out = tmp_path / "model.keras", tmp_path / "labels.txt", tmp_path / "model.glslnn"
    model.write_bytes(b"nobody gets to look at it")
    labels.write_text("a\nb\n")
    main = "from glsl_infer.cli import main; sys.exit(main())"
    done = run_without(main, "export", str(model), "-o", str(out), "--labels", str(labels))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "pip install tensorflow" in done.stderr
    assert not out.exists()
