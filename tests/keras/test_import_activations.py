"""Import of Keras activations as equivalent graphs."""

from __future__ import annotations

from collections.abc import Callable

import keras
import numpy as np
import pytest
from imported import check

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.graph.activations import FORMS
from glsl_infer.importers.keras import to_graph
from glsl_infer.importers.keras.activations import FUNCTIONS
from glsl_infer.importers.keras.layers import ClippedLinear, LearnableSigmoid

L = keras.layers


def prelu(shape: tuple[int, ...], **options: object) -> keras.layers.Layer:
    """Return a built PReLU with slopes of both signs."""
    layer = L.PReLU(alpha_initializer=keras.initializers.RandomUniform(-1.5, 1.5, seed=1), **options)
    layer.build((None, *shape))
    return layer


def activation_names(graph: Graph) -> list[str]:
    """Return the names of the activations of an optimised graph, in order."""
    return [node.activation.name for node in graph.nodes if node.activation.text != "linear"]


LAYERS: dict[str, Callable[[], keras.layers.Layer]] = {
    "elu": lambda: L.ELU(0.5),
    "leaky_relu": lambda: L.LeakyReLU(0.1),
    "prelu": lambda: prelu((4, 4, 6), shared_axes=[1, 2]),
    "relu": lambda: L.ReLU(0.75),
    "bent_relu": lambda: L.ReLU(max_value=1.5, negative_slope=0.25, threshold=0.5),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_as_layers_and_as_arguments(name: str) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, L.Conv2D(6, 1, activation=name)(L.Activation(name)(L.Conv2D(4, 1)(x))))
    assert len(activation_names(graph)) == (0 if name == "linear" else 2)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_alone_and_as_arguments(name: str) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, L.Conv2D(6, 1, activation=LAYERS[name]())(LAYERS[name]()(L.Conv2D(6, 1)(x))))
    assert activation_names(graph) == [name, name]


@pytest.mark.parametrize(
    "name, operation",
    [
        ("elu", lambda x: keras.ops.elu(x, 0.7)),
        ("exponential", keras.ops.exp),
        ("gelu", lambda x: keras.ops.gelu(x, approximate=False)),
        ("gelu_tanh", keras.ops.gelu),
        ("hard_silu", keras.ops.hard_silu),
        ("leaky_relu", lambda x: keras.ops.leaky_relu(x, -0.2)),
        ("log_sigmoid", keras.ops.log_sigmoid),
        ("selu", keras.ops.selu),
        ("silu", keras.ops.silu),
        ("softplus", keras.ops.softplus),
        ("softsign", keras.ops.softsign),
        ("tanh", keras.ops.tanh),
    ],
)
def test_each_operation_becomes_its_activation(name: str, operation: Callable) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, operation(L.Conv2D(6, 1)(x)))
    assert activation_names(graph) == [name]


def positive(x: keras.KerasTensor) -> keras.KerasTensor:
    """Return values of at least 0.5."""
    return L.Conv2D(6, 1, activation="relu")(x) + 0.5


@pytest.mark.parametrize(
    "name, operation",
    [
        ("absolute", keras.ops.abs),
        ("absolute", abs),
        ("square", keras.ops.square),
        ("square", lambda x: x**2),
        ("power", lambda x: keras.ops.power(x, 3)),
        ("power", lambda x: x**1.5),
        ("power", lambda x: x**-0.75),
        ("sqrt", keras.ops.sqrt),
        ("sqrt", lambda x: x**0.5),
        ("rsqrt", keras.ops.rsqrt),
        ("log", keras.ops.log),
        ("log", keras.ops.log1p),
        ("exponential", keras.ops.expm1),
        ("reciprocal", keras.ops.reciprocal),
        ("reciprocal", lambda x: 1.0 / x),
        ("reciprocal", lambda x: 3.0 / x),
        ("clip", lambda x: keras.ops.clip(x, -0.5, 0.75)),
        ("relu", lambda x: keras.ops.clip(x, 0.0, 0.75)),
        ("clip", keras.ops.hard_tanh),
        ("at_least", lambda x: keras.ops.maximum(x, 0.25)),
        ("relu", lambda x: keras.ops.maximum(0.0, x)),
        ("at_most", lambda x: keras.ops.minimum(x, 0.25)),
        ("celu", lambda x: keras.ops.celu(x - 1.0, 0.5)),
        ("hard_shrink", lambda x: keras.ops.hard_shrink(x, 0.75)),
        ("soft_shrink", lambda x: keras.ops.soft_shrink(x, 0.75)),
        ("sparse_plus", lambda x: keras.ops.sparse_plus(x - 1.0)),
        ("piecewise_linear", lambda x: keras.ops.sparse_sigmoid(x - 1.0)),
        ("squareplus", keras.ops.squareplus),
        ("sin", keras.ops.sin),
        ("cos", keras.ops.cos),
        ("tanh_shrink", keras.ops.tanh_shrink),
        ("threshold", lambda x: keras.ops.threshold(x, 0.75, 0.25)),
    ],
)
def test_each_operation_on_positive_values_becomes_its_activation(name: str, operation: Callable) -> None:
    x = keras.Input((4, 4, 3))
    result = activation_names(check(x, operation(positive(x))))
    assert result == ["relu", name]


def test_a_squared_difference() -> None:
    x = keras.Input((4, 4, 3))
    assert activation_names(check(x, (L.Conv2D(6, 1)(x) - L.Conv2D(6, 1)(x)) ** 2)) == ["square"]


def test_a_function_is_fused_into_a_convolution() -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, abs(-L.Conv2D(6, 1)(x)))
    assert [node.op for node in graph.nodes] == ["input", "conv2d"]


@pytest.mark.parametrize("operation", [lambda x: x**9, lambda x: 2.0**x])
def test_powers_without_a_shader_run_on_the_cpu(operation: Callable) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, operation(x))
    assert [node.op for node in graph.nodes] == ["input", "tensor_binary"]


def test_slopes_of_a_dense_layer() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Dense(5, activation=prelu((5,)))(L.GlobalAveragePooling2D()(L.Conv2D(6, 1)(x)))
    check(x, L.Dense(3)(prelu((5,))(y)))


@pytest.mark.parametrize("shared", [[], [1], [3]])
def test_slopes_for_each_pixel_are_a_map_of_constants(shared: list[int]) -> None:
    x = keras.Input((4, 5, 3))
    graph = check(x, prelu((4, 5, 6), shared_axes=shared)(L.Conv2D(6, 1)(x)))
    assert "constant_map" in [node.op for node in graph.nodes]


def test_slopes_for_each_pixel_inside_a_layer_are_refused() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Conv2D(3, 1, activation=prelu((4, 4, 3)))(x)
    with pytest.raises(ModelError, match=r"a PReLU with slopes of its own for each pixel.*shared_axes=\[1, 2\]"):
        to_graph(keras.Model(x, y))


def test_equal_slopes_are_one_number() -> None:
    x = keras.Input((4, 4, 3))
    layer = L.PReLU(alpha_initializer=keras.initializers.Constant(0.5))
    graph = to_graph(keras.Model(x, layer(x)))
    assert [node.activation.text for node in graph.nodes[1:]] == ["leaky_relu(0.5)"]


def test_every_activation_form_can_be_imported_from_keras() -> None:
    reached = {function.name for function in FUNCTIONS.values()} | set(LAYERS)
    reached |= {"absolute", "at_least", "at_most", "log", "power", "reciprocal", "rsqrt", "sqrt", "square", "threshold"}
    reached |= {"cos", "sin"}
    assert set(FORMS) - reached == {"gelu_tanh", "piecewise_linear_sigmoid"}
    assert np.isfinite([function.slope for function in FUNCTIONS.values() if function.slope]).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make_layer", [LearnableSigmoid, lambda: ClippedLinear(0.3, 0.2)], ids=["learnable", "line"])
def test_import_as_argument_and_as_layer_after_sums_and_pooling(
    make_layer: Callable[[], keras.layers.Layer], seed: int
) -> None:
    x = keras.Input((6, 6, 3))
    y = L.Conv2D(8, 3, padding="same", activation=make_layer())(x)
    y = make_layer()(L.Add()([y, L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(y))]))
    y = make_layer()(L.MaxPooling2D(2)(y))
    y = L.Dense(5, activation=make_layer())(L.GlobalAveragePooling2D()(y))
    check(x, y, seed)


def test_a_line_without_a_slope_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ClippedLinear: scale=0\.0, offset=0\.5; give a positive scale"):
        ClippedLinear(0.0, 0.5)
