"""A file with operators of constants that ``folding`` has not, simplified by ``onnxslim``, where that is installed.

onnxslim computes what is constant with ONNX Runtime. It trusts files, so it works in a process of its own, with bounds.

``python -m glsl_infer.importers.onnx.slimmed JOB.json`` (see ``child_process``) does a job: ``model``, a file;
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
from glsl_infer.importers.onnx.file import LARGEST_FILE, read_model
from glsl_infer.importers.onnx.installed import schema
from glsl_infer.importers.onnx.model import Model
from glsl_infer.importers.onnx.stored import Stored
from glsl_infer.importers.shared.whole_file import read_bytes
from glsl_infer.support import memory
from glsl_infer.support.child_process import ChildProcess, execute

MOST_MEMORY = 4 << 30
"""Bytes that the process may have, of addresses."""
SECONDS = 120
"""How long it may take, of the CPU's time."""
LARGEST_RESULT = 1 << 20
"""Bytes of a constant that it may make of others: those that say sizes and places are small, weights are there."""


def advice() -> str:
    """Return what helps an operator of constants that nothing here computes: packages that may do so, if missing."""
    missing = [name for name in ("onnxslim", "onnxruntime") if find_spec(name) is None]
    if missing:
        return f"{pip_install(' '.join(missing))}, which then compute it once"
    return "export the model with its constants folded, or with another opset"


def slimmed(path: Path, shapes: Mapping[str, Sequence[int]]) -> Model | None:
    """Return what onnxslim makes of a file; None where it is not installed, fails, or takes too much.

    Args:
        path: an ``.onnx`` file that can be read.
        shapes: of the inputs, by their names in the file.
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
                read()  # the folder goes
            return model
        except GlslInferError:  # the messages on the file as it is stay the right ones
            return None


def work(job: dict[str, Any]) -> None:
    """Do a job; see above.

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
    except Exception as error:  # of whatever kind: it trusts files
        raise InputError(f"{path}: onnxslim fails ({type(error).__name__})") from None


def _bound() -> None:
    """Bound the memory and the time of this process, where the system can."""
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
