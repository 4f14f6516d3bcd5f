"""Conversion by TensorFlow to TensorFlow Lite, for models without direct support.

SavedModel folders, subclassed Keras models and Keras layers without an entry are converted, and the TensorFlow Lite
reader imports the result. TensorFlow runs in a separate process, because it crashes in a process with Mesa's LLVM.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from glsl_infer.cpu import custom
from glsl_infer.importers import own_modules
from glsl_infer.support.child_process import ChildProcess

SAVED_MODEL = "saved_model.pb"
_JOB = "glsl_infer.importers.conversion_job"


def saved_model_of(path: Path) -> Path | None:
    """Return the folder of a SavedModel, from it or from its ``saved_model.pb``; None for any other path."""
    folder = path.parent if path.name == SAVED_MODEL else path
    return folder if (folder / SAVED_MODEL).is_file() and (folder / "variables").is_dir() else None


def converted(path: Path, sizes: Sequence[tuple[str, tuple[int, int]]] = ()) -> bytes:
    """Return a model as a TensorFlow Lite file.

    Args:
        path: a SavedModel folder, or a file that Keras reads.
        sizes: (height, width) of inputs whose sizes a Keras model leaves open, by name.

    Raises:
        InputError: TensorFlow cannot convert the model, or is not installed.
        RunError: TensorFlow crashed.
    """
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as name:
        out = Path(name) / "model.tflite"
        job = {
            "model": str(path),
            "out": str(out),
            "imports": own_modules.remembered(),
            "operators": custom.loaded(),
            "sizes": [[name, list(size)] for name, size in sizes],
        }
        with ChildProcess(_JOB, job, Path(name) / "job", "converts the model to TensorFlow Lite") as process:
            process.finish()
        return out.read_bytes()
