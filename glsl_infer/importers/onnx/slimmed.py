"""Simplification by ``onnxslim`` of files with constant operators that ``folding`` does not support.

onnxslim folds constants with ONNX Runtime. It trusts files, so it runs in a separate process with limits.

``python -m glsl_infer.importers.onnx.slimmed JOB.json`` (see ``child_process``) runs a job: ``model``, a file;
``shapes`` of inputs by name; ``out``, the file to write.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from glsl_infer.errors import GlslInferError, InputError, pip_install
from glsl_infer.importers.core.limits import read_bytes
from glsl_infer.importers.onnx.file import LARGEST_FILE, read_model, schema
from glsl_infer.importers.onnx.model import Model
from glsl_infer.importers.onnx.stored import Stored
from glsl_infer.support import memory
from glsl_infer.support.child_process import ChildProcess, execute

MOST_MEMORY = 4 << 30
"""Largest address space of the process, in bytes."""
SECONDS = 120
"""Largest CPU time of the process."""
LARGEST_RESULT = 1 << 20
"""Largest constant that it computes, in bytes. Constants for sizes and indices are small, unlike weights."""


def advice() -> str:
    """Return the advice for an unsupported operator on constants: the missing packages, or another export."""
    missing = [name for name in ("onnxslim", "onnxruntime") if find_spec(name) is None]
    if missing:
        return f"{pip_install(' '.join(missing))}, which then compute it once"
    return "export the model with its constants folded, or with another opset"


def slimmed(path: Path, shapes: Mapping[str, Sequence[int]]) -> Model | None:
    """Return the file after onnxslim, or None if onnxslim is not installed, fails or exceeds its limits.

    Args:
        path: a readable ``.onnx`` file.
        shapes: shapes of the inputs, by their names in the file.
    """
    if find_spec("onnxslim") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / path.name
        job = {"model": str(path), "shapes": {name: list(shape) for name, shape in shapes.items()}, "out": str(out)}
        try:
            with ChildProcess(__name__, job, Path(folder) / "job", f"simplifies {path}") as child:
                child.finish()
            model = read_model(out)
            for read in model.part.constants.values():
                read()  # before the folder is deleted
            return model
        except GlslInferError:  # the messages about the original file stay valid
            return None


def work(job: dict[str, Any]) -> None:
    """Run a job of the module's description.

    Raises:
        InputError: onnxslim fails.
        ModelError: the file is damaged.
    """
    _bound()
    import onnxslim

    onnx, path = schema(), Path(job["model"])
    model = onnx.ModelProto.FromString(read_bytes(path, ".onnx", LARGEST_FILE))
    stored = Stored(onnx, str(path), path.parent)
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.CopyFrom(stored.beside(tensor))
    shapes = [f"{name}:{','.join(map(str, shape))}" for name, shape in job["shapes"].items()]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            made = onnxslim.slim(model, input_shapes=shapes, size_threshold=LARGEST_RESULT)
        onnx.save(made, job["out"])
    except Exception as error:  # of any class: onnxslim trusts files
        raise InputError(f"{path}: onnxslim fails ({type(error).__name__})") from None


def _bound() -> None:
    """Limit the memory and the CPU time of this process, if the system supports limits."""
    try:
        import resource
    except ImportError:
        return
    most = min(MOST_MEMORY, memory.available() or MOST_MEMORY)
    for kind, wanted in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, SECONDS)):
        hard = resource.getrlimit(kind)[1]
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (limit, limit))


if __name__ == "__main__":
    sys.exit(execute(sys.argv[1:], work))
