"""Keras' part of the table: the rows' models with weights, and Keras' results. Imports Keras when called."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.importers.keras import to_graph
from operator_table.row import KERAS, Build, Refusal, Row

PICTURES = 24
"""Number of random images for calibration."""


def model_of(build: Build, shape: tuple[int | None, int | None, int]) -> Any:
    """Return the Keras model of a row for an input shape, with random weights for values in a useful range."""
    KERAS.utils.clear_session(free_memory=False)  # names unnamed layers as in a new process
    KERAS.utils.set_random_seed(1)  # for weights that keep their initial values
    x = KERAS.Input(shape, name="picture")
    network = build(x)
    model = network if isinstance(network, KERAS.Model) else KERAS.Model(x, network, name="functional")
    rng = np.random.default_rng(1)
    for weight in model.weights:
        weight_name = weight.path.rsplit("/", 1)[1]
        if weight_name in ("gamma", "moving_variance"):
            weight.assign(rng.uniform(0.5, 1.5, weight.shape))
        elif weight_name in ("beta", "moving_mean", "bias"):
            weight.assign(rng.normal(0.0, 0.3, weight.shape))
        elif weight_name in ("slopes", "gaps", "centre"):  # of a LearnableSigmoid
            weight.assign(rng.normal(0.0, 0.5, weight.shape))
        elif weight_name.endswith("kernel"):  # neither vanishing nor saturating outputs
            weight.assign(rng.normal(0.0, 1.5 / np.sqrt(_fan_in(weight)), weight.shape))
    return model


def row_model(row: Row) -> Any:
    """Return the model of a row."""
    return model_of(row.build, (row.size, row.size, row.channels))


def pictures(row: Row, count: int = PICTURES) -> list[NDArray[np.uint8]]:
    """Return reproducible random images for a row: one test image, then ``count`` calibration images."""
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    return [rng.integers(0, 256, (row.size, row.size, row.channels), np.uint8) for _ in range(count + 1)]


def expected(row: Row, model: Any, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return Keras' output for an image."""
    low, high = row.bytes
    values = low + (high - low) * (picture[None] / 255.0)
    return np.asarray(model(values.astype(np.float32), training=False))[0]


def ends_in_softmax(graph: Graph) -> bool:
    """Return whether Keras' outputs are probabilities, for which runners return logits."""
    layers = graph.outputs[0].layers
    return len(graph.outputs) == len(layers) == 1 and graph.by_name[layers[0]].op == "softmax"


OPTIONS = Options(weights="uniform")
"""A pass for each slice at all map sizes, to make rows comparable."""


def bundle_of(graph: Graph, calibration: Sequence[NDArray[np.uint8]]) -> tuple[Bundle, bool]:
    """Return the exported bundle of an imported graph, and whether it needs calibration images."""
    try:
        return build(graph, _labels(graph), options=OPTIONS)[0], False
    except ModelError as error:
        if "--images" not in str(error):
            raise
        return build(graph, _labels(graph), options=OPTIONS, calibration=calibration)[0], True


def refuse(refusal: Refusal) -> None:
    """Export a model, which must be refused.

    Raises:
        ModelError: as documented.
    """
    graph = to_graph(model_of(refusal.build, refusal.shape), refusal.input_range)
    shape = graph.inputs[0].attrs["shape"]
    pictures = np.random.default_rng(0).integers(0, 256, (2, *shape), np.uint8)
    build(graph, _labels(graph), calibration=list(pictures) if refusal.calibrated else ())


def _labels(graph: Graph) -> list[str]:
    return [f"class {index}" for index in range(classes_of(graph))]


def _fan_in(weight: Any) -> float:
    shape = weight.shape
    return float(np.prod(shape[:2] if "depthwise" in weight.path else shape[:-1]))
