"""Comparison of Keras models with their imported graphs, for tests of tests/keras only."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.optimize import optimize
from glsl_infer.graph import Graph, reference
from glsl_infer.graph.host_steps import softmax
from glsl_infer.importers.keras import to_graph


def randomise(model: keras.Model, seed: int, spread: float = 0.7) -> keras.Model:
    """Give every weight a random value (variances positive)."""
    rng = np.random.default_rng(seed)
    for weight in model.weights:
        values = rng.normal(0, spread, weight.shape)
        if "seed_generator" not in weight.path:
            weight.assign(np.abs(values) + 0.3 if "variance" in weight.path else values)
    return model


def check(
    inputs: keras.KerasTensor,
    outputs: keras.KerasTensor,
    seed: int = 0,
    *,
    input_range: tuple[float, float] | None = None,
    fed: tuple[float, float] = (0.0, 1.0),
) -> Graph:
    """Compare Keras with the imported and with the optimised graph on an image; return the latter.

    ``fed`` is the pair of Keras' input values for bytes 0 and 255.
    """
    model = as_saved(randomise(keras.Model(inputs, outputs), seed))
    return check_model(model, seed, input_range=input_range, fed=fed)


def as_saved(model: keras.Model) -> keras.Model:
    """Return the model as loaded from a file, where tuples among arguments are lists and arrays are tensors."""
    try:
        rebuilt = keras.models.model_from_json(model.to_json())
    except (TypeError, ValueError):  # with a class defined in the test
        return model
    rebuilt.set_weights(model.get_weights())
    return rebuilt


def check_model(
    model: keras.Model,
    seed: int = 0,
    *,
    input_range: tuple[float, float] | None = None,
    fed: tuple[float, float] = (0.0, 1.0),
    tolerance: float = 1e-5,
) -> Graph:
    """Compare a model with given weights, as ``check`` does."""
    shape = tuple(model.inputs[0].shape[1:])
    picture = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    values = fed[0] + (fed[1] - fed[0]) * (picture[None] / 255.0)
    expected = np.asarray(model(values.astype(np.float32), training=False))[0]
    graph = to_graph(model, input_range)
    optimized = optimize(graph)
    close(reference.run(graph, picture, mode="float"), expected, tolerance)
    optimized_output = reference.run(optimized, picture, mode="float")
    (output,) = graph.outputs
    last = graph.by_name[output.layers[0]]
    before = [graph.by_name[name].op for name in last.inputs if not last.weights]
    if not optimized.outputs[0].steps and "softmax" in (last.op, *before):
        optimized_output = softmax(optimized_output)  # the optimiser removes a final one
    close(optimized_output.reshape(expected.shape), expected, tolerance)
    return optimized


def close(output: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Compare, with a tolerance relative to the largest value."""
    assert output.shape == expected.shape
    assert np.abs(output - expected).max() <= tolerance * max(1.0, float(np.abs(expected).max()))


def cpu_operators(model: Any) -> list[str]:
    """Return the operators of a Keras model for the CPU, in order."""
    return [node.op for node in to_graph(model).nodes if ops.get(node.op).on_cpu]
