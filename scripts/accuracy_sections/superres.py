"""The super-resolution network: a section of scripts/accuracy.py. Its PSNR stands in its card."""

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
    photographs,
    random_inputs,
)
from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.compiler.build import build
from glsl_infer.graph import reference
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.pictures.preprocess import open_image
from glsl_infer.runtime.session import Session

CALIBRATION, TEST, SATURATION = 64, 20, 600


def measure(keras: Path, data: Path) -> Section:
    """Export with calibration; every layer on the GPU, and the whole network beside the exact reference."""
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
        "saturation": saturation(bundles.read(keras.with_suffix(".glslnn")), data),
        "passed": worst <= BOUNDS["layer"],
    }


def saturation(made: Bundle, data: Path) -> Section:
    """Count what the float network computes beyond the ranges of a bundle that were learnt from pictures."""
    graph = made.graph
    learnt = [node for node in graph.nodes if node.op == "conv2d"]
    rows = {node.name: {"values": 0, "beyond": 0, "pictures": 0, "largest": 0.0, "highest": 0.0} for node in learnt}
    for picture in photographs(data, "train", SATURATION, made.manifest.input.size):
        outputs = dict(reference.layers(graph, picture, mode="float"))
        for node in learnt:
            value, row = outputs[node.name].astype(np.float64), rows[node.name]
            map_ = made.values[node.name]
            assert isinstance(map_, FeatureMap)
            low, high = -map_.scale_of * map_.zero_of / 255.0, map_.scale_of * (255.0 - map_.zero_of) / 255.0
            over = np.maximum(value - high, low - value)
            count = int((over > map_.scale_of / 255.0).sum())  # by more than a step: the rest is rounding
            row["values"] += value.size
            row["beyond"] += count
            row["pictures"] += count > 0
            row["largest"] = max(row["largest"], float(over.max()))
            row["highest"] = float(high.max())
    return {"photographs": SATURATION, "rows": [{"layer": name, **row} for name, row in rows.items()]}


def centres(data: Path, split: str, count: int, size: int) -> Pictures:
    """Return the centres of photographs at half their size: the exact 2x2 average, as the network was trained on."""
    squares = []
    for path in evenly(paths(data, split), count):
        picture = open_image(path)
        left, top = ((length - 2 * size) // 2 for length in picture.size)
        squares.append(np.asarray(picture.crop((left, top, left + 2 * size, top + 2 * size)).reduce(2), np.uint8))
    return np.stack(squares)
