"""All of keras.layers and keras.activations of the installed version, and the image functions of keras.ops.

Each exports and compiles to a program whose exact reference agrees with Keras, or is refused by name with advice and
listed with its reason in a table of ``keras_surface``.
"""

from __future__ import annotations

from typing import Any

import keras
import keras_surface as surface
import numpy as np
import pytest
import small_models
from imported import randomise
from keras.src.ops import math, numpy
from keras_surface import Build
from numpy.typing import NDArray
from operator_table import ROWS, models

from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.delegate import build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.errors import ModelError
from glsl_infer.graph import reference
from glsl_infer.graph.elementwise import BINARY, UNARY
from glsl_infer.graph.host_steps import softmax
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.report import DROPPED
from glsl_infer.importers.keras import survey_of, tensors
from glsl_infer.importers.keras.converters import LAYERS
from glsl_infer.importers.keras.instead import INSTEAD
from glsl_infer.importers.keras.operations import OPERATIONS

L = keras.layers
SHAPE = (8, 8, 3)
SAMPLES = 4

JUMPS = ("ceil", "floor", "round", "trunc", "sign")
"""Operations of which a value near a jump can differ by all of it, because the layer before has steps."""


def classes_of_keras() -> dict[str, type]:
    """Return the layers by class name. Several public names can be one class."""
    public = (getattr(L, name) for name in dir(L) if name[0].isupper())
    return {kind.__name__: kind for kind in public if isinstance(kind, type)}


def model_of(body: Build) -> keras.Model:
    keras.utils.clear_session(free_memory=False)
    x = keras.Input(SHAPE, name="picture")
    return randomise(keras.Model(x, body(surface.stem(x))), 1, spread=0.4)


def agreement(model: keras.Model) -> tuple[float, NDArray[np.float64]]:
    """Return the error of the floats, and the errors of the compiled program's exact reference, as shares."""
    graph = survey_of(model).whole()
    images = [small_models.random_inputs(graph, seed) for seed in range(SAMPLES + 1)]
    labels = [f"class {index}" for index in range(classes_of(optimize(graph)))]
    built = build(graph, labels, calibration=images[1:])
    assert all(part.program.passes for part in built.gpu)
    expected = np.asarray(model(small_models.fed(graph, images[0])["picture"], training=False), np.float64)[0]
    (floats,) = reference.run(graph, images[0], mode="float").values()
    ((name, exact),) = reference.run(built.bundle, images[0]).items()
    if small_models.leaves_softmax(graph, name, built.bundle.graph):
        exact = softmax(exact)
    errors = np.abs(exact - expected.reshape(exact.shape)) / max(np.abs(expected).max(), 1e-6)
    return small_models.relative(floats, expected), errors


def check(name: str, body: Build, refused: dict[str, str]) -> None:
    """Export a tiny model; a model in the table of refusals must be refused."""
    try:
        floats, exact = agreement(model_of(body))
    except ModelError as error:
        assert name in refused, f"{name} is refused: {error}"
        for problem in survey_of(model_of(body)).problems or [error]:
            assert isinstance(problem, ModelError)
            assert problem.advice, "a refusal has advice"
            assert problem.name, "a refusal names the layer"
        return
    assert name not in refused, f"{name} works: remove it from the table of refused layers"
    assert floats <= 1e-4
    assert np.quantile(exact, 0.98 if name in JUMPS else 1.0) <= 0.1


def test_every_class_of_keras_layers_is_in_a_table() -> None:
    assert set(classes_of_keras()) == set(surface.LAYERS) | set(surface.NO_MODEL)
    assert set(surface.REFUSED_LAYERS) <= set(surface.LAYERS)


def test_every_function_of_keras_activations_is_converted() -> None:
    assert set(surface.REFUSED_ACTIVATIONS) <= set(activations())
    assert set(surface.REFUSED_OPS) <= set(surface.OPS)


def activations() -> list[str]:
    helpers = {"deserialize", "get", "serialize"}
    return [name for name in dir(keras.activations) if name[0] != "_" and name not in helpers]


def operations(model: keras.Model) -> list[Any]:
    """Return all layers and operations of a model and of its nested models."""
    own = getattr(model, "operations", model.layers)  # a Sequential has layers only
    inner = [layer for layer in own if hasattr(layer, "layers")]
    return [*own, *(operation for other in inner for operation in operations(other))]


@pytest.mark.exhaustive
def test_every_converter_is_reached() -> None:
    bodies = (*surface.LAYERS.values(), *surface.OPS.values())
    built = [model_of(body) for body in bodies] + [models.row_model(row) for row in ROWS]
    reached = {type(operation).__name__ for model in built for operation in operations(model)}
    in_table = {*elementwise.operations(elementwise.KERAS), *elementwise.functions(elementwise.KERAS)}
    converted = {*LAYERS, *OPERATIONS, *tensors.LAYERS, *tensors.OPERATIONS}
    assert not converted - in_table - reached  # the next test has the table


def test_functions_of_the_table_are_those_of_keras() -> None:
    classes = {
        kind.__name__: kind for module in (math, numpy) for kind in vars(module).values() if isinstance(kind, type)
    }
    operands = np.random.default_rng(2).uniform(0.1, 0.9, (2, 50)).astype(np.float32)
    for rows, count in ((BINARY, 2), (UNARY, 1)):
        for row in rows.values():
            for name in row.keras.split():
                with np.errstate(invalid="ignore"):
                    expected = row.compute(*operands[:count])
                result = np.asarray(classes[name]()(*operands[:count]), np.float32)
                assert np.allclose(result, expected, 1e-4, 1e-5, equal_nan=True), name


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", surface.LAYERS)
def test_every_layer_class_is_converted_or_refused(name: str) -> None:
    check(name, surface.LAYERS[name], dict(surface.REFUSED_LAYERS))


@pytest.mark.parametrize("name", sorted(surface.NO_MODEL))
def test_a_class_without_a_model_is_refused_with_advice(name: str) -> None:
    assert surface.NO_MODEL[name].startswith("no layer") or name in INSTEAD


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", activations())
def test_an_activation(name: str) -> None:
    function = getattr(keras.activations, name)
    body = lambda x: L.Conv2D(2, 1, activation="sigmoid")(L.Activation(function)(L.Conv2D(4, 1)(x)))  # noqa: E731
    check(name, body, dict(surface.REFUSED_ACTIVATIONS))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", surface.OPS)
def test_an_operation(name: str) -> None:
    check(name, surface.OPS[name], dict(surface.REFUSED_OPS))


@pytest.mark.parametrize("name", [name for name in surface.LAYERS if name.startswith("Random")])
def test_augmentation_is_dropped_with_a_note(name: str) -> None:
    rows = survey_of(model_of(surface.LAYERS[name])).rows
    assert [(row.runs, row.note) for row in rows if row.kind == name] == [(DROPPED, "does nothing outside of training")]


def test_shared_and_nested_models() -> None:
    inner = keras.Sequential([keras.Input((8, 8, 4)), L.Conv2D(4, 3, padding="same", activation="sigmoid")])
    floats, exact = agreement(model_of(lambda x: L.Add()([inner(x), inner(inner(x))])))
    assert floats <= 1e-5
    assert exact.max() <= 0.1
