"""Keras' activations, the learnable sigmoid and the clipped line become equivalent graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import keras
import needs
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import check

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph
from glsl_infer.graph.activations import FORMS
from glsl_infer.importers.keras import to_graph
from glsl_infer.importers.keras.activations import FUNCTIONS
from glsl_infer.importers.keras.layers import ClippedLinear, LearnableSigmoid, PiecewiseLinearSigmoid

L = keras.layers


def slopes(shape: tuple[int, ...], **options: object) -> keras.layers.Layer:
    """Return a PReLU with slopes of both signs."""
    layer = L.PReLU(alpha_initializer=keras.initializers.RandomUniform(-1.5, 1.5, seed=1), **options)
    layer.build((None, *shape))
    return layer


def functions(graph: Graph) -> list[str]:
    """Return the names of the activations of an optimised graph, in order."""
    return [node.activation.name for node in graph.nodes if node.activation.text != "linear"]


LAYERS: dict[str, Callable[[], keras.layers.Layer]] = {
    "elu": lambda: L.ELU(0.5),
    "leaky_relu": lambda: L.LeakyReLU(0.1),
    "prelu": lambda: slopes((4, 4, 6), shared_axes=[1, 2]),
    "relu": lambda: L.ReLU(0.75),
    "bent_relu": lambda: L.ReLU(max_value=1.5, negative_slope=0.25, threshold=0.5),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_as_layers_and_as_arguments(name: str) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, L.Conv2D(6, 1, activation=name)(L.Activation(name)(L.Conv2D(4, 1)(x))))
    assert len(functions(graph)) == (0 if name == "linear" else 2)


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_layers_alone_and_as_arguments(name: str) -> None:
    x = keras.Input((4, 4, 3))
    graph = check(x, L.Conv2D(6, 1, activation=LAYERS[name]())(LAYERS[name]()(L.Conv2D(6, 1)(x))))
    assert functions(graph) == [name, name]


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
    assert functions(graph) == [name]


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
def test_powers_and_limits(name: str, operation: Callable) -> None:
    x = keras.Input((4, 4, 3))
    result = functions(check(x, operation(positive(x))))
    assert result == ["relu", name]


def test_a_squared_difference() -> None:
    x = keras.Input((4, 4, 3))
    assert functions(check(x, (L.Conv2D(6, 1)(x) - L.Conv2D(6, 1)(x)) ** 2)) == ["square"]


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
    y = L.Dense(5, activation=slopes((5,)))(L.GlobalAveragePooling2D()(L.Conv2D(6, 1)(x)))
    check(x, L.Dense(3)(slopes((5,))(y)))


@pytest.mark.parametrize("shared", [[], [1], [3]])
def test_slopes_for_each_pixel_are_a_map_of_constants(shared: list[int]) -> None:
    x = keras.Input((4, 5, 3))
    graph = check(x, slopes((4, 5, 6), shared_axes=shared)(L.Conv2D(6, 1)(x)))
    assert "constant_map" in [node.op for node in graph.nodes]


def test_slopes_for_each_pixel_inside_a_layer_are_refused() -> None:
    x = keras.Input((4, 4, 3))
    y = L.Conv2D(3, 1, activation=slopes((4, 4, 3)))(x)
    with pytest.raises(ModelError, match=r"a PReLU with slopes of its own for each pixel.*shared_axes=\[1, 2\]"):
        to_graph(keras.Model(x, y))


def test_equal_slopes_are_one_number() -> None:
    x = keras.Input((4, 4, 3))
    layer = L.PReLU(alpha_initializer=keras.initializers.Constant(0.5))
    graph = to_graph(keras.Model(x, layer(x)))
    assert [node.activation.text for node in graph.nodes[1:]] == ["leaky_relu(0.5)"]


def test_every_form_has_a_way_in_from_keras() -> None:
    reached = {function.name for function in FUNCTIONS.values()} | set(LAYERS)
    reached |= {"absolute", "at_least", "at_most", "log", "power", "reciprocal", "rsqrt", "sqrt", "square", "threshold"}
    reached |= {"cos", "sin"}
    assert set(FORMS) - reached == {"gelu_tanh", "piecewise_linear_sigmoid"}
    assert np.isfinite([function.slope for function in FUNCTIONS.values() if function.slope]).all()


X = np.linspace(-12.0, 12.0, 2001, dtype=np.float32)[None]


def with_weights(seed: int, spread: float, **options: object) -> LearnableSigmoid:
    layer = LearnableSigmoid(**options)
    layer.build((None, 1))
    rng = np.random.default_rng(seed)
    for weight in layer.weights:
        weight.assign(rng.normal(0.0, spread, weight.shape))
    return layer


def test_initial_weights_give_the_fixed_sigmoid() -> None:
    layer = LearnableSigmoid()
    assert np.abs(np.asarray(layer(X)) - np.asarray(PiecewiseLinearSigmoid()(X))).max() < 1e-6
    assert {weight.name: tuple(weight.shape) for weight in layer.trainable_weights} == {
        "slopes": (3,),
        "gaps": (3,),
        "centre": (2,),
    }


@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 3.0, 30.0]))
@settings(max_examples=20)
def test_any_weights_give_a_monotonic_function_within_0_and_1(seed: int, spread: float) -> None:
    y = np.asarray(with_weights(seed, spread)(X))
    assert y.min() >= 0.0 and y.max() <= 1.0
    assert np.diff(y).min() >= -1e-5 * spread  # float32, with slopes of that size


@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 2.0]))
@settings(max_examples=20)
def test_the_engine_writes_the_same_function(seed: int, spread: float) -> None:
    layer = with_weights(seed, spread)
    assert np.abs(layer.function()(X.astype(np.float64)) - np.asarray(layer(X))).max() < 1e-5


def gradients(layer: LearnableSigmoid) -> list[np.ndarray]:
    x = np.random.default_rng(1).normal(0.0, 3.0, (4096, 8)).astype(np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(layer(x), tf.float32) * np.sin(x + 1.0))
    return [np.asarray(gradient) for gradient in tape.gradient(loss, [weight.value for weight in layer.weights])]


def test_gradients_reach_every_weight() -> None:
    for seed in range(3):
        for gradient in gradients(with_weights(seed, 0.1)):
            assert np.isfinite(gradient).all() and (gradient != 0.0).all()


def test_gradients_stay_finite_far_away() -> None:
    """A breakpoint in the clipped range has no gradient, and nothing overflows."""
    for seed in range(5):
        assert all(np.isfinite(gradient).all() for gradient in gradients(with_weights(seed, 30.0)))


def test_bfloat16_costs_the_function_and_its_gradients_little() -> None:
    full, half = with_weights(0, 0.3), with_weights(0, 0.3, dtype="mixed_bfloat16")
    assert all(weight.dtype == "float32" for weight in half.weights)
    y = half(X)
    assert y.dtype == tf.bfloat16
    assert np.abs(np.asarray(tf.cast(y, tf.float32)) - np.asarray(full(X))).max() < 0.01
    for result, expected in zip(gradients(half), gradients(full)):
        np.testing.assert_allclose(result, expected, rtol=0.02, atol=0.02 * np.abs(expected).max())


@pytest.mark.exhaustive
def test_training_fits_another_function() -> None:
    """It fits a steep, asymmetric sigmoid, from which the fixed one differs by 0.14 on average."""
    inputs = keras.Input((1,))
    model = keras.Model(inputs, LearnableSigmoid()(inputs))
    x = np.linspace(-8.0, 8.0, 512, dtype=np.float32)[:, None]
    y = np.interp(x, [-1.0, 0.0, 1.0, 4.0], [0.0, 0.2, 0.8, 1.0])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    before = float(np.abs(np.asarray(model(x)) - y).mean())
    model.fit(x, y, batch_size=512, epochs=150, verbose=0)
    assert before > 0.1
    assert float(np.abs(np.asarray(model(x)) - y).mean()) < 0.02


def test_saving_keeps_learnt_weights(tmp_path: Path) -> None:
    inputs = keras.Input((5, 5, 3))
    layer = with_weights(3, 0.5, name="learnt")
    model = keras.Model(inputs, ClippedLinear(0.25, 0.125, name="line")(layer(inputs)))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_layer("learnt").function() == layer.function()
    assert loaded.get_layer("line").function().name == "piecewise_linear(0.25,0.125)"
    x = np.random.default_rng(0).normal(size=(1, 5, 5, 3)).astype(np.float32)
    assert np.array_equal(np.asarray(model(x)), np.asarray(loaded(x)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [LearnableSigmoid, lambda: ClippedLinear(0.3, 0.2)], ids=["learnable", "line"])
def test_import_as_argument_and_as_layer_after_sums_and_pooling(make, seed: int) -> None:
    x = keras.Input((6, 6, 3))
    y = L.Conv2D(8, 3, padding="same", activation=make())(x)
    y = make()(L.Add()([y, L.BatchNormalization()(L.Conv2D(8, 3, padding="same")(y))]))
    y = make()(L.MaxPooling2D(2)(y))
    y = L.Dense(5, activation=make())(L.GlobalAveragePooling2D()(y))
    check(x, y, seed)


def test_a_line_without_a_slope_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ClippedLinear: scale=0\.0, offset=0\.5; give a positive scale"):
        ClippedLinear(0.0, 0.5)


JAX = """
import jax, numpy as np
from glsl_infer.importers.keras.layers import LearnableSigmoid
layer = LearnableSigmoid(dtype="mixed_bfloat16")
layer.build((None, 4))
x = np.random.default_rng(0).normal(0.0, 3.0, (64, 4)).astype("float32")
loss = lambda weights: (layer.stateless_call(weights, [], x)[0].astype("float32") ** 2).sum()
found = jax.jit(jax.grad(loss))([weight.value for weight in layer.weights])
assert all(np.isfinite(one).all() and (np.asarray(one) != 0.0).all() for one in found), found
y = np.asarray(layer(x).astype("float32"))
assert np.abs(layer.function()(x.astype("float64")) - y).max() < 0.01
print("fine")
"""


@pytest.mark.exhaustive
def test_training_works_with_jax() -> None:
    needs.module("jax")
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout == "fine\n", done.stderr
