"""Gain of layers and its effect on 8-bit rounding: a section of scripts/accuracy.py."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import graph_file
import numpy as np

from accuracy_sections.common import Pictures, Section, keras_side, photographs
from glsl_infer import bundle as bundles
from glsl_infer.compiler import amplification, lower, optimize
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.graph import Graph
from glsl_infer.program.layout import Value

SIZE = 128
CALIBRATION, TEST = 64, 4


def measure(trained: Sequence[Path], data: Path) -> Section:
    """Measure trained bundles, and MobileNets with random weights, which were not trained to tolerate rounding.

    Args:
        trained: bundles; the exporter must not warn about them.
        data: folder of the trashnet data set.
    """
    rows = []
    for path in trained:
        made = bundles.read(path)
        pictures = photographs(data, "test", TEST, made.manifest.input.size)
        rows.append(_row(path.name, made.graph, made.graph, made.values, pictures))
    calibration, test = photographs(data, "train", CALIBRATION, SIZE), photographs(data, "test", TEST, SIZE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "pictures.npz", calibration=calibration, test=test)
        keras_side("mobilenet", folder, pictures=folder / "pictures.npz")
        for kind in ("plain", "varied"):
            graph = optimize.optimize(graph_file.read(folder / f"mobilenet-{kind}.graph"))
            prepared = prepare(graph, Calibration(list(calibration))).graph
            program = lower.to_program(prepared)
            rows.append(_row(f"MobileNet v1 0.25, random, {kind}", prepared, program.graph, program.values, test))
    return {
        "photographs": TEST,
        "rows": rows,
        "passed": not any(row["warnings"] for row in rows[: len(trained)]),
    }


def _row(name: str, floats: Graph, stored: Graph, values: Mapping[str, Value], pictures: Pictures) -> Section:
    gains = amplification.gains(stored, values)
    errors = amplification.errors(floats, stored, list(pictures))
    amplifying, off = max(gains, key=lambda layer: gains[layer]), max(errors, key=lambda layer: errors[layer])
    return {
        "network": name,
        "convolutions": len(gains),
        "median_gain": float(np.median(list(gains.values()))),
        "gain": {"layer": amplifying, "value": gains[amplifying]},
        "error": {"layer": off, "value": errors[off]},
        "warnings": len(amplification.warnings(gains, errors)),
    }
