"""LearnableSigmoid: its function, gradients, training and saving, with TensorFlow and with JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keras
import needs
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from glsl_infer.importers.keras.layers import ClippedLinear, LearnableSigmoid, PiecewiseLinearSigmoid

X = np.linspace(-12.0, 12.0, 2001, dtype=np.float32)[None]


def random_sigmoid(seed: int, spread: float, **options: object) -> LearnableSigmoid:
    """Return a learnable sigmoid with normally distributed weights."""
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
    y = np.asarray(random_sigmoid(seed, spread)(X))
    assert y.min() >= 0.0 and y.max() <= 1.0
    assert np.diff(y).min() >= -1e-5 * spread  # float32, with slopes of that size


@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0, 2.0]))
@settings(max_examples=20)
def test_the_engine_writes_the_same_function(seed: int, spread: float) -> None:
    layer = random_sigmoid(seed, spread)
    assert np.abs(layer.function()(X.astype(np.float64)) - np.asarray(layer(X))).max() < 1e-5


def gradients(layer: LearnableSigmoid) -> list[np.ndarray]:
    x = np.random.default_rng(1).normal(0.0, 3.0, (4096, 8)).astype(np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.cast(layer(x), tf.float32) * np.sin(x + 1.0))
    return [np.asarray(gradient) for gradient in tape.gradient(loss, [weight.value for weight in layer.weights])]


def test_gradients_reach_every_weight() -> None:
    for seed in range(3):
        for gradient in gradients(random_sigmoid(seed, 0.1)):
            assert np.isfinite(gradient).all() and (gradient != 0.0).all()


def test_gradients_stay_finite_far_away() -> None:
    """A breakpoint in the clipped range has no gradient, and nothing overflows."""
    for seed in range(5):
        assert all(np.isfinite(gradient).all() for gradient in gradients(random_sigmoid(seed, 30.0)))


def test_bfloat16_costs_the_function_and_its_gradients_little() -> None:
    full, half = random_sigmoid(0, 0.3), random_sigmoid(0, 0.3, dtype="mixed_bfloat16")
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
    layer = random_sigmoid(3, 0.5, name="learnt")
    model = keras.Model(inputs, ClippedLinear(0.25, 0.125, name="line")(layer(inputs)))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_layer("learnt").function() == layer.function()
    assert loaded.get_layer("line").function().name == "piecewise_linear(0.25,0.125)"
    x = np.random.default_rng(0).normal(size=(1, 5, 5, 3)).astype(np.float32)
    assert np.array_equal(np.asarray(model(x)), np.asarray(loaded(x)))


JAX = """
import jax, numpy as np
from glsl_infer.importers.keras.layers import LearnableSigmoid
layer = LearnableSigmoid(dtype="mixed_bfloat16")
layer.build((None, 4))
x = np.random.default_rng(0).normal(0.0, 3.0, (64, 4)).astype("float32")
loss = lambda weights: (layer.stateless_call(weights, [], x)[0].astype("float32") ** 2).sum()
gradients = jax.jit(jax.grad(loss))([weight.value for weight in layer.weights])
assert all(np.isfinite(gradient).all() and (np.asarray(gradient) != 0.0).all() for gradient in gradients), gradients
y = np.asarray(layer(x).astype("float32"))
assert np.abs(layer.function()(x.astype("float64")) - y).max() < 0.01
print("ok")
"""


@pytest.mark.exhaustive
def test_training_works_with_jax() -> None:
    needs.module("jax")
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    done = subprocess.run([sys.executable, "-c", JAX], capture_output=True, text=True, check=False, env=environment)
    assert done.stdout == "ok\n", done.stderr
