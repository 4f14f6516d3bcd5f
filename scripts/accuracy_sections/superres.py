"""The super-resolution network: a section of scripts/accuracy.py. Its model card has its PSNR."""

from __future__ import annotations

import tempfile
from pathlib import Path

import graph_file
import numpy as np

from accuracy_sections.common import (
    BOUNDS,
    Pictures,
    Section,
    evenly,
    exact_inputs,
    keras_side,
    layer_rows,
    paths,
    random_inputs,
)
from glsl_infer.compiler.build import build
from glsl_infer.graph import reference
from glsl_infer.runtime.pictures.preprocess import open_image
from glsl_infer.runtime.session import Session

CALIBRATION, TEST = 64, 20


def measure(keras: Path, data: Path) -> Section:
    """Export with calibration; compare every layer on the GPU and the entire network with the exact reference."""
    with tempfile.TemporaryDirectory() as name:
        keras_side("file", Path(name), keras=keras)
        graph = graph_file.read(Path(name) / "file.graph")
    size = graph.input.attrs["shape"][0]
    calibration, test = centres(data, "train", CALIBRATION, size), centres(data, "test", TEST, size)
    made, _, _ = build(graph, (), calibration=list(calibration))
    with Session(made, selfcheck=True) as session:
        layers = {
            "random": layer_rows(session, random_inputs(made, 0)),
            "photograph": layer_rows(session, exact_inputs(made, test[0])),
        }
        gpu = np.stack([session.run(picture) for picture in test])
        statistics = vars(session.statistics())
    exact = np.stack([reference.run(made, picture) for picture in test])
    floats = np.stack([reference.run(graph, picture, mode="float") for picture in test])
    worst = max(row["worst"] for rows in layers.values() for row in rows)
    steps = np.abs(np.rint(255.0 * gpu) - np.rint(255.0 * exact))
    return {
        "model": keras.name,
        "size": size,
        "calibration": CALIBRATION,
        "photographs": TEST,
        "layers": layers,
        "worst": worst,
        "statistics": statistics,
        "gpu_exact": {"largest": float(steps.max()), "share": float((steps > 0).mean())},
        "float": {
            key: {
                "mean": float(np.abs(pixels - floats).mean() * 255),
                "largest": float(np.abs(pixels - floats).max() * 255),
            }
            for key, pixels in (("exact", exact), ("gpu", gpu))
        },
        "passed": worst <= BOUNDS["layer"],
    }


def centres(data: Path, split: str, count: int, size: int) -> Pictures:
    """Return the centres of photographs at half size, by the exact 2x2 average that the network was trained on."""
    squares = []
    for path in evenly(paths(data, split), count):
        picture = open_image(path)
        left, top = ((length - 2 * size) // 2 for length in picture.size)
        squares.append(np.asarray(picture.crop((left, top, left + 2 * size, top + 2 * size)).reduce(2), np.uint8))
    return np.stack(squares)
