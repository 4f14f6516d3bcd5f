"""The optimiser of a recipe: the rate of every step, and the weights without decay."""

from dataclasses import replace

import keras
import numpy as np
import pytest

from training.optimizer import Rates, optimizer
from training.recipe import Optimizer, Phase, Recipe, Schedule
from training.schedule import learning_rates

RECIPE = Recipe(
    optimizer=Optimizer(rate=0.01, weight_decay=0.0), schedule=Schedule(warmup=1.0), phases=(Phase(epochs=3),)
)


def variable(value, name):
    return keras.Variable(np.full(3, value, np.float32), name=name)


def test_rates_reach_the_optimiser_step_by_step():
    made, weight = optimizer(RECIPE, 4), variable(0.0, "kernel")
    steps = []
    for _ in range(12):
        before = np.asarray(weight)[0]
        made.apply([np.ones(3, np.float32)], [weight])  # Adam's step under a constant gradient is the rate
        steps.append(float(before - np.asarray(weight)[0]))
    assert steps == pytest.approx(learning_rates(RECIPE, 4).tolist(), rel=1e-3, abs=1e-8)
    assert len(set(np.round(steps, 6))) > 8


def test_beyond_the_table_the_last_rate_stays():
    rates = Rates(np.array([0.1, 0.2], np.float32))
    assert [float(rates(step)) for step in (0, 1, 2, 100)] == pytest.approx([0.1, 0.2, 0.2, 0.2])
    assert Rates(**rates.get_config()).get_config() == rates.get_config()


@pytest.mark.parametrize("name, shrinks", [("kernel", True), ("bias", False), ("beta", False), ("gamma", False)])
def test_weight_decay_is_for_kernels(name, shrinks):
    recipe = replace(RECIPE, optimizer=Optimizer(rate=0.01, weight_decay=0.5), schedule=Schedule(warmup=0.0))
    made, weight = optimizer(recipe, 4), variable(1.0, name)
    made.apply([np.zeros(3, np.float32)], [weight])
    assert np.allclose(weight, 1 - 0.01 * 0.5 if shrinks else 1.0, atol=1e-6)


def test_weight_decay_in_a_network():
    """Variables of layers have these names too, and with zero gradients only decay changes them."""
    inputs = keras.Input((4, 4, 3))
    x = keras.layers.BatchNormalization(beta_initializer="ones")(keras.layers.Conv2D(2, 3, use_bias=False)(inputs))
    model = keras.Model(inputs, keras.layers.Dense(2, bias_initializer="ones")(x))
    before = [np.asarray(one) for one in model.trainable_variables]
    made = optimizer(replace(RECIPE, optimizer=Optimizer(rate=0.01, weight_decay=0.5)), 1)
    made.apply([np.zeros_like(one) for one in before], model.trainable_variables)
    moved = [
        variable.name for variable, old in zip(model.trainable_variables, before) if not np.array_equal(variable, old)
    ]
    assert moved == ["kernel", "kernel"] and len(before) == 5


def test_adam_has_no_decay():
    recipe = replace(RECIPE, optimizer=Optimizer(name="adam", weight_decay=0.0, beta_2=0.9))
    made = optimizer(recipe, 4)
    assert type(made) is keras.optimizers.Adam and made.weight_decay is None and made.beta_2 == 0.9


def test_clipping():
    made = optimizer(replace(RECIPE, optimizer=Optimizer(clip_norm=0.5)), 4)
    assert made.global_clipnorm == 0.5
    assert optimizer(RECIPE, 4).global_clipnorm is None
