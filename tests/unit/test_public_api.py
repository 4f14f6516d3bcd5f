"""The public interface: names, exceptions, and use without TensorFlow, Keras, JAX and PyTorch."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import run_python

import glsl_infer
from glsl_infer import errors

PACKAGE = Path(glsl_infer.__file__).parent
KERAS_ONLY = ("glsl_infer.importers.keras.layers", "glsl_infer.importers.keras.tensorflow_calls")
"""The modules that need Keras."""
MODULES = [
    "glsl_infer",
    *(
        walk_package.name
        for walk_package in pkgutil.walk_packages([str(PACKAGE)], "glsl_infer.")
        if walk_package.name not in KERAS_ONLY
    ),
]
NOT_FOR_THE_ENGINE = {"keras", "tensorflow", "jax", "torch", "h5py", "jsonschema", "matplotlib", "training"}


# Names ---------------------------------------------------------------------------------------------
def test_all_lists_every_public_name() -> None:
    names = glsl_infer.__all__
    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(glsl_infer, name)] == []
    own = {name for name, value in vars(glsl_infer).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert own == {name for name in names if not inspect.ismodule(getattr(glsl_infer, name))}


def test_star_import_equals_all() -> None:
    namespace: dict[str, object] = {}
    exec("from glsl_infer import *", namespace)
    assert set(glsl_infer.__all__) == set(namespace) - {"__builtins__"}


def test_public_modules_are_the_ones_in_the_rooms() -> None:
    program = (
        "import sys, glsl_infer; assert 'numpy' not in sys.modules and 'OpenGL' not in sys.modules; "
        "from glsl_infer.session import Session; import glsl_infer.preprocess, glsl_infer.runtime.session as home; "
        "import glsl_infer.session as alias; assert alias is home is glsl_infer.session; "
        "assert home.__spec__.name == home.__name__ == 'glsl_infer.runtime.session' and glsl_infer.Session is Session; "
        "assert glsl_infer.preprocess.load and glsl_infer.gl.context and not hasattr(glsl_infer, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# Exceptions ----------------------------------------------------------------------------------------
def drawn_tree() -> dict[str, str | None]:
    """Return the tree in the docstring of errors.py: parent by name."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for branch, name in re.findall(r"^ {4}([│├└─ ]*)(\w+Error)  +\S", errors.__doc__ or "", re.MULTILINE):
        depth = len(branch) // 4
        path[depth:] = [name]
        parents[name] = path[depth - 1] if depth else None
    return parents


def real_tree() -> dict[str, str | None]:
    tree: dict[str, str | None] = {}
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, BaseException):
            (parent,) = value.__bases__
            tree[name] = None if parent is Exception else parent.__name__
    return tree


def test_the_tree_of_exceptions_is_as_drawn() -> None:
    assert drawn_tree() == real_tree()
    assert list(drawn_tree()) == list(real_tree())  # in the same order
    assert [name for name, parent in real_tree().items() if parent is None] == ["GlslInferError"]


def test_exit_codes() -> None:
    for name in real_tree():
        error = getattr(errors, name)
        assert error.exit_code == (2 if issubclass(error, errors.InputError) else 1)


def test_all_exceptions_are_in_errors() -> None:
    inside = {"glsl_infer.errors", "glsl_infer.bundle.described"}  # the latter becomes a BundleError with a path
    for name in MODULES:
        for key, value in vars(importlib.import_module(name)).items():
            own = inspect.isclass(value) and not key.startswith("_") and value.__module__ == name
            assert not (own and issubclass(value, BaseException)) or name in inside, value


def test_messages_of_errors() -> None:
    layer = errors.ModelError.layer("b1-conv", "axis=1", "only the last can be exported")
    assert str(layer) == "layer 'b1-conv': axis=1; only the last can be exported"
    missing = errors.MissingExtraError.of("TensorFlow", "tensorflow", "training")
    assert str(missing) == (
        f"training needs TensorFlow, which is not installed; install it: {errors.pip_install('tensorflow')}"
    )
    assert errors.pip_install("tensorflow").endswith("-m pip install tensorflow")


# No TensorFlow -------------------------------------------------------------------------------------
def imported(tree: ast.AST) -> set[str]:
    """Return the top-level packages that a syntax tree imports, at any depth."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names


def test_the_scan_sees_imports() -> None:
    source = "import keras.ops as k\ndef f():\n    from tensorflow.io import x\nfrom . import torch\n"
    assert imported(ast.parse(source)) == {"keras", "tensorflow"}


@pytest.mark.slow
def test_only_importers_import_keras() -> None:
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    results = {
        path: imported(ast.parse(text)) & NOT_FOR_THE_ENGINE
        for path, text in texts.items()
        if any(name in text for name in NOT_FOR_THE_ENGINE)  # parsing all of them takes a second
    }
    outside = {path: names for path, names in results.items() if names and not path.startswith("importers")}
    assert outside == {"tools/benchmark/plots.py": {"matplotlib"}}  # imported only by --plot
    assert results["importers/keras/installed.py"] == {"keras"}
    assert results["importers/keras/layers.py"] == {"keras"}


@pytest.mark.slow
def test_importing_all_modules_imports_no_keras() -> None:
    program = (
        f"import importlib, sys\nfor name in {MODULES!r}: importlib.import_module(name)\n"
        f"print(sorted({NOT_FOR_THE_ENGINE!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = run_python("-c", program, folder=PACKAGE.parent, check=True)
    assert done.stdout == "[]\n"


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
    return run_python("-c", WITHOUT + program, *arguments, folder=Path(glsl_infer.__file__).parent.parent)


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
