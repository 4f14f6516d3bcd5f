"""Well-known networks with random weights: a section of scripts/accuracy.py."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import graph_file
import numpy as np
from numpy.typing import NDArray

from accuracy_sections.common import BOUNDS, ROOT, Section, compared, photographs
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import InputError
from glsl_infer.graph import reference
from glsl_infer.lowering.weights_plan import LONG_ARRAY
from glsl_infer.runtime.session import Session

SIZES = {
    "mobilenet-0.25-128": 128,
    "mobilenet-1.0-224": 128,
    "mobilenet-v2-224": 128,
    "squeezenet-224": 128,
    "resnet20-32": 32,
    "unet-128": 64,
    "srcnn-96": 48,
    "efficientnet-lite0-224": 128,
    "inception-v3-299": 107,
    "resnet50-224": 96,
    "densenet121-224": 96,
    "vgg16-224": 64,
}
"""Networks of scripts/vc4/networks.py, with the image size in pixels used here: smaller, to save time on a CPU."""

CALIBRATION, TEST = 32, 4
HALF = 0.5
"""Shift of the float network's images, in steps of a byte, to measure how its weights amplify such noise."""


def measure(data: Path, names: Sequence[str], known: Section) -> Section:
    """Compare exact reference and GPU with float32 Keras; rows of networks not in ``names`` stay as they are."""
    rows = {row["network"]: row for row in known.get("rows", ())}
    for name in names:
        print(f"  {name}", file=sys.stderr, flush=True)
        rows[name] = _measured(name, SIZES[name], data)
    ordered = [rows[name] for name in SIZES if name in rows]
    ratio = max(row["gpu"]["mean"] / row["exact"]["mean"] for row in ordered)
    return {"calibration": CALIBRATION, "photographs": TEST, "rows": ordered, "passed": ratio <= BOUNDS["ratio"]}


def _measured(name: str, size: int, data: Path) -> Section:
    calibration, test = photographs(data, "train", CALIBRATION, size), photographs(data, "test", TEST, size)
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        moved = test + np.random.default_rng(5).uniform(-HALF, HALF, test.shape)
        np.savez(folder / "pictures.npz", pictures=calibration, test=np.concatenate([test, moved]))
        keras_side = [sys.executable, str(ROOT / "scripts/vc4/networks_keras.py"), name, str(folder), str(size)]
        if subprocess.run(keras_side, check=False, stderr=subprocess.DEVNULL).returncode:
            raise InputError(f"{name}: Keras' side failed: {' '.join(keras_side)}")
        graph = graph_file.read(folder / f"{name}.graph")
        with np.load(folder / f"{name}.npz") as saved:
            floats, noisy = np.split(_rows(saved["outputs"]), 2)
    shape = graph.shapes[graph.output]
    labels = [str(index) for index in range(shape[0])] if len(shape) == 1 else ()
    made, _, prepared = build(graph, labels, options=Options(uniform_vectors=LONG_ARRAY), calibration=list(calibration))
    exact = _rows(np.stack([reference.run(made, picture) for picture in test]))
    gpu = _on_gpu(made, test)
    return {
        "network": name,
        "size": size,
        "passes": len(made.manifest.passes),
        "partial_sums": len(prepared.wide),
        "exact": {**compared(exact, floats), **_cosines(exact, floats)},
        "gpu": {**compared(gpu, floats), **_cosines(gpu, floats)},
        "gpu_exact": _cosines(gpu, exact),
        "noise": {**compared(noisy, floats), **_cosines(noisy, floats)},
    }


def _on_gpu(made: Bundle, test: NDArray[np.uint8]) -> NDArray[np.float64]:
    with Session(made) as session:
        return _rows(np.stack([session.run(picture) for picture in test]))


def _rows(outputs: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return outputs, a row for each picture."""
    return outputs.reshape(len(outputs), -1).astype(np.float64)


def _cosines(given: NDArray[np.float64], wanted: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean and the smallest cosine between the two outputs of each image."""
    lengths = np.linalg.norm(given, axis=1) * np.linalg.norm(wanted, axis=1)
    cosines = (given * wanted).sum(axis=1) / lengths
    return {"cosine_mean": float(cosines.mean()), "cosine_least": float(cosines.min())}
