"""A textbook convolutional network, trained on photographs: a section of scripts/accuracy.py."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import graph_file
import numpy as np
from numpy.typing import NDArray

from accuracy_sections.common import (
    BOUNDS,
    Section,
    compared,
    evenly,
    exact_inputs,
    keras_side,
    layer_rows,
    random_inputs,
)
from accuracy_sections.mobilenet import OTHER_HEADROOMS, PERCENTILES, bundle_of
from glsl_infer.compiler import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.intervals import HEADROOM
from glsl_infer.graph import Graph, reference
from glsl_infer.runtime.session import Session

SIZE = 64
CALIBRATION = 64


def measure(data: Path) -> Section:
    """Train it, export it with calibration, and compare float Keras, exact reference and GPU on the test split."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keras_side("textbook", folder, data=data, size=SIZE)
        graph = optimize.optimize(graph_file.read(folder / "textbook.graph"))
        with np.load(folder / "textbook.npz") as saved:
            arrays = {key: saved[key] for key in ("logits", "test", "labels", "train")}
    floats, test, labels = arrays["logits"], arrays["test"], arrays["labels"]
    calibration = evenly(list(arrays["train"]), CALIBRATION)
    prepared = prepare(graph, calibration)
    made = bundle_of(prepared)
    with Session(made, selfcheck=True) as session:
        gpu = np.stack([session.run(picture) for picture in test])
        layers = {
            "random": layer_rows(session, random_inputs(made, 0)),
            "photograph": layer_rows(session, exact_inputs(made, test[0])),
        }
        statistics = vars(session.statistics())
    exact = np.stack([reference.run(made, picture) for picture in test])
    rows = {"float": floats, "exact": exact, "gpu": gpu}
    worst = max(row["worst"] for layer in layers.values() for row in layer)
    ratio = compared(gpu, floats)["mean"] / compared(exact, floats)["mean"]
    return {
        "size": SIZE,
        "calibration": CALIBRATION,
        "photographs": len(test),
        "layers": layers,
        "worst": worst,
        "statistics": statistics,
        "top1": {key: float((logits.argmax(axis=1) == labels).mean()) for key, logits in rows.items()},
        "errors": {key: compared(rows[key], floats) for key in ("exact", "gpu")},
        "ratio": ratio,
        "ranges": _ranges(graph, calibration, test, floats, labels),
        "passed": worst <= BOUNDS["layer"] and ratio <= BOUNDS["ratio"],
    }


def _ranges(
    graph: Graph,
    calibration: list[NDArray[np.uint8]],
    test: NDArray[np.uint8],
    floats: NDArray[Any],
    labels: NDArray[Any],
) -> list[Section]:
    """Compare ways to choose ranges, on the exact reference alone."""
    ways: list[dict[str, Any]] = [
        *({"percentile": percentile, "per_channel": whole} for whole in (True, False) for percentile in PERCENTILES),
        *({"headroom": headroom} for headroom in OTHER_HEADROOMS),
    ]
    rows = []
    for way in ways:
        prepared = prepare(graph, calibration, **way)
        logits = np.stack([reference.run(prepared.graph, picture) for picture in test])
        settings = {"per_channel": True, "percentile": 100.0, "headroom": HEADROOM, **way}
        rows.append({**settings, **compared(logits, floats), "top1": float((logits.argmax(axis=1) == labels).mean())})
    return rows
