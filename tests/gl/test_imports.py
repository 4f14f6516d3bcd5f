"""classify imports neither the compiler nor TensorFlow, which crashes in one process with Mesa's LLVM."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run_python
from PIL import Image
from tiny import LABELS, tiny_picture, write_tiny

import glsl_infer
from glsl_infer.gl.context import Context
from glsl_infer.support.llvm_clash import mesa_llvm_loaded

ROOT = Path(__file__).resolve().parents[2]
MODEL, PICTURE = ROOT / "models/trashnet-x22-129.glslnn", ROOT / "docs/images/glass128.jpg"
LISTS_MODULES = """
import json, sys
from glsl_infer.cli import main_classify
code = main_classify(sys.argv[1:])
print(json.dumps([code, sorted(name for name in sys.modules if name.startswith("glsl_infer."))]))
"""


def test_classify_imports_no_compiler() -> None:
    done = run_python("-c", LISTS_MODULES, "--model", MODEL, PICTURE, folder=ROOT, check=True)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    rooms = {name.split(".")[1] for name in modules}
    assert rooms.isdisjoint({"compiler", "importers", "lowering", "ops", "tools"})
    assert {"runtime", "bundle", "program", "gl", "cli"} <= rooms


HIDES_TENSORFLOW = """
import json, sys

HIDDEN = ("tensorflow", "keras", "jax", "torch")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Absent())

import glsl_infer

with glsl_infer.Classifier(sys.argv[1], selfcheck=True) as classifier:
    found = classifier.classify(sys.argv[2])
print(json.dumps([(one.label, one.probability, one.index) for one in found]))
print(json.dumps(sorted(set(HIDDEN) & {name.partition(".")[0] for name in sys.modules})))
"""


def test_classification_imports_no_tensorflow(tmp_path: Path, context: Context) -> None:
    model, picture = write_tiny(tmp_path), tmp_path / "picture.png"
    Image.fromarray(tiny_picture(3)).save(picture)
    done = run_python(
        "-c", HIDES_TENSORFLOW, model, picture, folder=Path(glsl_infer.__file__).parent.parent, check=True
    )
    predictions, imported = (json.loads(line) for line in done.stdout.splitlines())
    assert imported == []
    assert sorted(label for label, _, _ in predictions) == sorted(LABELS)
    with glsl_infer.Classifier(model, context=context) as classifier:
        here = classifier.classify(picture)
    assert [(label, index) for label, _, index in predictions] == [
        (prediction.label, prediction.index) for prediction in here
    ]
    assert np.allclose(
        [probability for _, probability, _ in predictions], [prediction.probability for prediction in here]
    )


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
    done = run_python(script)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def mesa_with_llvm(context: Context) -> None:
    if not mesa_llvm_loaded():
        pytest.skip("this driver brings no LLVM, so there is nothing to clash with")


@pytest.mark.usefixtures("mesa_with_llvm")
def test_a_context_after_tensorflow(tmp_path) -> None:
    assert "crash in one process" in run(FIRST_TENSORFLOW, tmp_path)


@pytest.mark.usefixtures("mesa_with_llvm")
def test_keras_after_a_context(tmp_path) -> None:
    assert "crash in one process" in run(FIRST_OPENGL, tmp_path)
