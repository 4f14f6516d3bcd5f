"""Logits of many images, from float Keras, from the exact reference of a bundle, or from the GPU.

Each engine runs in child processes, because TensorFlow and Mesa's LLVM cannot share a process
(``glsl_infer/support/llvm_clash.py``), and because several processes make the exact reference faster. All load images
with ``glsl_infer.preprocess.load``, and results are reproducible.

``python -m training.logits JOB.json`` is such a process. It prints a line for each finished image.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError
from glsl_infer.runtime.pictures.preprocess import load
from glsl_infer.support.child_process import ChildProcess, execute, report_progress

BATCH = 8
"""Images that Keras computes at a time. The number is constant, so that an image's logits do not depend on the
others."""

_ALONE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

__all__ = ["NAMES", "Computed", "compute"]

NAMES = {"float": "float Keras", "exact": "exact reference", "gpu": "GPU"}
"""Names of the engines in reports."""

Done = Callable[[int], object]


@dataclass(frozen=True)
class Computed:
    """Logits float32 (images, classes), and a description of the engine."""

    logits: NDArray[np.float32]
    machine: str


def compute(engine: str, model: Path, paths: Sequence[Path], done: Done) -> Computed:
    """Return the logits of images.

    Args:
        engine: ``float``, ``exact`` or ``gpu``.
        model: a ``.keras`` file for ``float``, a bundle for the others.
        paths: the images, at least one.
        done: called with the number of images finished since the last call.

    Raises:
        InputError: an argument cannot be used; the message is that of the child process.
        RunError: a process failed or crashed.
    """
    count = min(_cores(), len(paths)) if engine == "exact" else 1
    index_ranges = [range(first, len(paths), count) for first in range(count)]
    with tempfile.TemporaryDirectory(prefix="glsl-infer-") as name, ExitStack() as context_stack:
        processes = []
        for index, indices in enumerate(index_ranges):
            stem = Path(name) / str(index)
            job = {
                "engine": engine,
                "model": str(model),
                "paths": [str(paths[i]) for i in indices],
                "out": f"{stem}.npz",
            }
            environment = None if count == 1 else {**os.environ, **_ALONE}
            process = ChildProcess("training.logits", job, stem, "computes logits", environment)
            processes.append(context_stack.enter_context(process))
        lock = threading.Lock()

        def follow(process: ChildProcess) -> None:
            for _ in process.lines():
                with lock:
                    done(1)

        threads = [threading.Thread(target=follow, args=(process,), daemon=True) for process in processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for process in processes:
            process.finish()
        results = [_saved(Path(name) / f"{index}.npz") for index in range(count)]
    logits = np.empty((len(paths), results[0].logits.shape[1]), np.float32)
    for indices, result in zip(index_ranges, results):
        logits[indices.start :: count] = result.logits
    return Computed(logits, results[0].machine)


def _saved(path: Path) -> Computed:
    with np.load(path) as saved:
        return Computed(saved["logits"], str(saved["machine"]))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# In the process of a job -------------------------------------------------------------------------------


def _float(model: Path, paths: Sequence[Path], done: Done) -> Computed:
    from glsl_infer.graph.picture import picture_values
    from glsl_infer.importers import keras as importer

    network = importer.load_model(model)
    picture = importer.to_graph(network).input  # the exporter defines the values of bytes
    size = picture.attrs["shape"][0]
    import keras

    # XLA is faster and deterministic, unlike TensorFlow's convolutions with several threads.
    network.jit_compile = keras.backend.backend() != "torch"
    rows = []
    for first in range(0, len(paths), BATCH):
        chunk = paths[first : first + BATCH]
        batch = np.zeros((BATCH, size, size, 3), np.float32)
        for index, path in enumerate(chunk):
            batch[index] = picture_values(picture, load(path, size))
        rows.append(np.asarray(network.predict_on_batch(batch))[: len(chunk)])
        done(len(chunk))
    backend = keras.backend.backend()
    device = keras.distribution.list_devices()[0].partition(":")[0].upper()
    return Computed(np.concatenate(rows), f"Keras {keras.version()}, {backend} {_version(backend)}, {device}")


def _exact(model: Path, paths: Sequence[Path], done: Done) -> Computed:
    from glsl_infer.graph import reference

    bundle = bundles.read(model)
    rows = []
    for path in paths:
        rows.append(reference.run(bundle, load(path, bundle.manifest.input.size), mode="stored"))
        done(1)
    return Computed(np.stack(rows), f"NumPy {np.__version__}")


def _gpu(model: Path, paths: Sequence[Path], done: Done) -> Computed:
    from glsl_infer.gl import constants as GL
    from glsl_infer.runtime.session import Session

    with Session(model, selfcheck=True) as session:
        size = session.bundle.manifest.input.size
        rows = []
        for path in paths:
            rows.append(session.run(load(path, size)))
            done(1)
        gl = session.context.gl
        machine = f"{gl.text(GL.GL_RENDERER)}, {gl.text(GL.GL_VERSION)}, {session.context.how}"
    return Computed(np.stack(rows), machine)


def _version(package: str) -> str:
    from importlib import metadata

    return next((distribution.version for distribution in metadata.distributions(name=package)), "")


ENGINES = {"float": _float, "exact": _exact, "gpu": _gpu}


def main(argv: Sequence[str]) -> int:
    """Compute the job in the file ``argv[0]``; return the exit code."""
    return execute(list(argv), _work)


def _work(job: dict[str, Any]) -> None:
    computed = ENGINES[job["engine"]](Path(job["model"]), [Path(path) for path in job["paths"]], report_progress)
    if computed.logits.ndim != 2:
        raise InputError(f"{job['model']}: ends in a feature map and has no classes; a classifier ends in a vector")
    np.savez(job["out"], logits=computed.logits, machine=np.array(computed.machine))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
