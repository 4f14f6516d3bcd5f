"""An image is classified even if TensorFlow, Keras, JAX and PyTorch cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from tiny import LABELS, tiny_picture, write_tiny

import glsl_infer
from glsl_infer.gl.context import Context

PROGRAM = """
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


def test_classify(tmp_path: Path, context: Context) -> None:
    model, picture = write_tiny(tmp_path), tmp_path / "picture.png"
    Image.fromarray(tiny_picture(3)).save(picture)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(model), str(picture)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(glsl_infer.__file__).parent.parent,
        timeout=120,
    )
    predictions, imported = (json.loads(line) for line in done.stdout.splitlines())
    assert imported == []
    assert sorted(label for label, _, _ in predictions) == sorted(LABELS)
    with glsl_infer.Classifier(model, context=context) as classifier:
        here = classifier.classify(picture)
    assert [(label, index) for label, _, index in predictions] == [(one.label, one.index) for one in here]
    assert np.allclose([probability for _, probability, _ in predictions], [one.probability for one in here])
