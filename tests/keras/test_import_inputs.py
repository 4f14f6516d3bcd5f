"""Inputs of two axes: grey images without a channel, and sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from imported import as_saved, close, randomise
from keras import layers as L
from keras import ops

from glsl_infer.compiler.optimize import optimize
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.picture import is_picture
from glsl_infer.importers.keras import to_graph

HEAD = [L.Conv2D(4, 3, activation="relu"), L.Flatten(), L.Dense(3)]

GREY: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda x: L.Dense(3)(L.Flatten()(x)),
    "rescaled": lambda x: L.Dense(3)(L.Flatten()(L.Dropout(0.5)(L.Rescaling(1 / 255)(x)))),
    "reshape": lambda x: keras.Sequential(HEAD)(L.Reshape((10, 8, 1))(x / 255.0)),
    "a channel": lambda x: keras.Sequential(HEAD)(ops.expand_dims(1.0 - x, -1)),
    "a model inside": keras.Sequential([keras.Input((10, 8)), L.Rescaling(2.0), L.Flatten(), L.Dense(3)]),
}

SEQUENCES: dict[str, Callable[[Any], Any]] = {
    "convolution": lambda x: L.GlobalMaxPooling1D()(L.Conv1D(4, 3, activation="relu")(x)),
    "recurrent": lambda x: L.Dense(3)(L.LSTM(4)(x)),
    "both": lambda x: L.Concatenate()([L.Flatten()(x), L.GlobalAveragePooling1D()(L.Conv1D(4, 3)(x))]),
    "each column": lambda x: L.Flatten()(x * np.arange(8, dtype=np.float32)),
}


def imported(make: Callable[[Any], Any]) -> tuple[keras.Model, Graph]:
    x = keras.Input((10, 8))
    model = as_saved(randomise(keras.Model(x, make(x)), 1))
    return model, to_graph(model)


@pytest.mark.parametrize("kind", GREY)
def test_a_grey_picture_without_channels(kind: str) -> None:
    model, graph = imported(GREY[kind])
    (entry,) = graph.inputs
    assert is_picture(entry)
    assert entry.attrs["shape"] == (10, 8, 1)
    picture = np.random.default_rng(2).integers(0, 256, (10, 8, 1), np.uint8)
    high = 255.0 if kind in ("rescaled", "reshape") else 1.0
    expected = np.asarray(model(picture[None, ..., 0] / np.float32(255.0 / high)))[0]
    close(reference.run(graph, picture, mode="float"), expected, 1e-5)
    close(reference.run(optimize(graph), picture, mode="float"), expected, 1e-5)
    assert not any(node.op.startswith("tensor_") for node in optimize(graph).nodes)


@pytest.mark.parametrize("kind", SEQUENCES)
def test_a_sequence(kind: str) -> None:
    model, graph = imported(SEQUENCES[kind])
    (entry,) = graph.inputs
    assert not is_picture(entry)
    numbers = np.random.default_rng(2).normal(size=(1, 10, 8)).astype(np.float32)
    close(reference.run(graph, numbers, mode="float"), np.asarray(model(numbers))[0], 1e-5)
