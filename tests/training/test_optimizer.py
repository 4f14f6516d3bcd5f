"""Updates of weights: the optimiser of a recipe, averages of weights, and recalibrated statistics."""

from __future__ import annotations

from dataclasses import replace

import keras
import numpy as np
import pytest

from training.averaging import BestCheckpoints, Checkpoint, MovingAverage, mean
from training.batch_norm import Recalibrator
from training.optimizer import Rates, optimizer
from training.recipe import Optimizer, Phase, Recipe, Schedule
from training.schedule import learning_rates

RECIPE = Recipe(
    optimizer=Optimizer(rate=0.01, weight_decay=0.0), schedule=Schedule(warmup=1.0), phases=(Phase(epochs=3),)
)


def variable(value, name):
    return keras.Variable(np.full(3, value, np.float32), name=name)


def test_rates_reach_the_optimiser_step_by_step():
    adam, weight = optimizer(RECIPE, 4), variable(0.0, "kernel")
    steps = []
    for _ in range(12):
        before = np.asarray(weight)[0]
        adam.apply([np.ones(3, np.float32)], [weight])  # Adam's step under a constant gradient is the rate
        steps.append(float(before - np.asarray(weight)[0]))
    assert steps == pytest.approx(learning_rates(RECIPE, 4).tolist(), rel=1e-3, abs=1e-8)
    assert len(set(np.round(steps, 6))) > 8


def test_the_last_rate_applies_after_the_table():
    rates = Rates(np.array([0.1, 0.2], np.float32))
    assert [float(rates(step)) for step in (0, 1, 2, 100)] == pytest.approx([0.1, 0.2, 0.2, 0.2])
    assert Rates(**rates.get_config()).get_config() == rates.get_config()


@pytest.mark.parametrize("name, shrinks", [("kernel", True), ("bias", False), ("beta", False), ("gamma", False)])
def test_weight_decay_is_for_kernels(name, shrinks):
    recipe = replace(RECIPE, optimizer=Optimizer(rate=0.01, weight_decay=0.5), schedule=Schedule(warmup=0.0))
    steps, weight = optimizer(recipe, 4), variable(1.0, name)
    steps.apply([np.zeros(3, np.float32)], [weight])
    assert np.allclose(weight, 1 - 0.01 * 0.5 if shrinks else 1.0, atol=1e-6)


def test_weight_decay_in_a_network():
    """Variables of layers have these names too, and with zero gradients only decay changes them."""
    inputs = keras.Input((4, 4, 3))
    x = keras.layers.BatchNormalization(beta_initializer="ones")(keras.layers.Conv2D(2, 3, use_bias=False)(inputs))
    model = keras.Model(inputs, keras.layers.Dense(2, bias_initializer="ones")(x))
    before = [np.asarray(variable) for variable in model.trainable_variables]
    steps = optimizer(replace(RECIPE, optimizer=Optimizer(rate=0.01, weight_decay=0.5)), 1)
    steps.apply([np.zeros_like(weight) for weight in before], model.trainable_variables)
    updates = [
        variable.name for variable, old in zip(model.trainable_variables, before) if not np.array_equal(variable, old)
    ]
    assert updates == ["kernel", "kernel"] and len(before) == 5


def test_adam_has_no_decay():
    recipe = replace(RECIPE, optimizer=Optimizer(name="adam", weight_decay=0.0, beta_2=0.9))
    steps = optimizer(recipe, 4)
    assert type(steps) is keras.optimizers.Adam and steps.weight_decay is None and steps.beta_2 == 0.9


def test_clip_norm_is_the_global_clipnorm():
    steps = optimizer(replace(RECIPE, optimizer=Optimizer(clip_norm=0.5)), 4)
    assert steps.global_clipnorm == 0.5
    assert optimizer(RECIPE, 4).global_clipnorm is None


def weights(*values):
    return [np.array(values, np.float32), np.full((2, 1), values[0], np.float32)]


def same(result, expected):
    return len(result) == len(expected) and all(np.allclose(a, b, atol=1e-6) for a, b in zip(result, expected))


def test_a_moving_average_weights_its_updates():
    average = MovingAverage(0.9)
    average.update(weights(1.0, 2.0), 3)
    assert same(average.weights, weights(1.0, 2.0)), "the first are taken as they are"
    average.update(weights(2.0, 0.0), 2)
    assert same(average.weights, weights(0.81 * 1 + 0.19 * 2, 0.81 * 2))
    average.update(weights(0.0, 0.0), 1)
    assert same(average.weights, weights(0.9 * (0.81 * 1 + 0.19 * 2), 0.9 * 0.81 * 2))
    assert all(weight.dtype == np.float32 for weight in average.weights)


def test_a_moving_average_copies_its_weights():
    current, average = weights(1.0), MovingAverage(0.5)
    average.update(current, 1)
    current[0][:] = 7
    assert same(average.weights, weights(1.0))


def test_a_decay_of_zero_keeps_no_average():
    average = MovingAverage(0.0)
    average.update(weights(1.0), 1)
    assert average.weights == []


def epochs_of(best):
    return [checkpoint.epoch for checkpoint in best.kept]


def test_the_best_are_kept_best_first():
    best = BestCheckpoints(3)
    for epoch, rank in enumerate([(0.5, -1.0), (0.7, -2.0), (0.6, -1.0), (0.7, -1.0), (0.1, 0.0)], 1):
        best.add(Checkpoint(rank, epoch, weights(float(epoch))))
    assert epochs_of(best) == [4, 2, 3]
    assert same(best.average(), weights(3.0))


def test_earlier_checkpoints_win_ties():
    best = BestCheckpoints(2)
    for epoch in (1, 2, 3):
        best.add(Checkpoint((0.5, -1.0), epoch, weights(1.0)))
    assert epochs_of(best) == [1, 2]


def test_mean_is_exact_where_float32_sums_are_not():
    large = np.float32(2**24)
    assert mean([[np.array([large])], [np.array([1], np.float32)], [np.array([1], np.float32)]])[0] == pytest.approx(
        (2**24 + 2) / 3, rel=1e-7
    )
    average = mean([weights(1.0, 4.0), weights(2.0, 0.0)])
    assert same(average, weights(1.5, 2.0)) and average[0].dtype == np.float32


BATCH = 8


@pytest.fixture
def model():
    keras.utils.set_random_seed(4)
    inputs = keras.Input((5, 5, 3))
    x = keras.layers.BatchNormalization(momentum=0.9, name="first")(inputs)
    x = keras.layers.Conv2D(4, 3, name="conv")(x)
    return keras.Model(inputs, keras.layers.BatchNormalization(momentum=0.8, name="second")(x))


def pixels(count=3 * BATCH, seed=5):
    """Return images whose batches differ in brightness and contrast."""
    rng = np.random.default_rng(seed)
    batch = (np.arange(count) // BATCH)[:, None, None, None]
    return np.clip(rng.normal(60 + 40 * batch, 10 + 10 * batch, (count, 5, 5, 3)), 0, 255).astype(np.uint8)


def test_statistics_are_plain_averages(model):
    Recalibrator(model).recalibrate(pixels(), BATCH)
    first, second = model.get_layer("first"), model.get_layer("second")
    batches = pixels().reshape(3, BATCH, 5, 5, 3) / np.float32(255)
    assert np.allclose(first.moving_mean, np.mean([batch.mean(axis=(0, 1, 2)) for batch in batches], axis=0), atol=1e-5)
    assert np.allclose(
        first.moving_variance, np.mean([batch.var(axis=(0, 1, 2)) for batch in batches], axis=0), rtol=1e-4
    )
    normalised = [
        (batch - batch.mean(axis=(0, 1, 2))) / np.sqrt(batch.var(axis=(0, 1, 2)) + first.epsilon) for batch in batches
    ]  # each batch by its own statistics, as in training
    outputs = [np.asarray(model.get_layer("conv")(images)) for images in normalised]
    assert np.allclose(
        second.moving_mean, np.mean([output.mean(axis=(0, 1, 2)) for output in outputs], axis=0), atol=1e-4
    )
    assert np.allclose(
        second.moving_variance, np.mean([output.var(axis=(0, 1, 2)) for output in outputs], axis=0), rtol=1e-3
    )


def test_a_part_of_a_batch_is_left_out(model):
    recalibrator = Recalibrator(model)
    recalibrator.recalibrate(pixels()[: 2 * BATCH], BATCH)
    expected = model.get_weights()
    recalibrator.recalibrate(pixels()[: 2 * BATCH + 5], BATCH)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(expected, model.get_weights()))


def test_fewer_pictures_than_a_batch_are_one(model):
    Recalibrator(model).recalibrate(pixels(5), BATCH)
    assert np.allclose(model.get_layer("first").moving_mean, pixels(5).mean(axis=(0, 1, 2)) / 255, atol=1e-5)


def test_earlier_statistics_are_forgotten(model):
    recalibrator = Recalibrator(model)
    recalibrator.recalibrate(pixels(), BATCH)
    expected = model.get_weights()
    recalibrator.recalibrate(255 - pixels(), BATCH)
    assert not all(np.allclose(a, b, atol=1e-2) for a, b in zip(expected, model.get_weights()))
    recalibrator.recalibrate(pixels(), BATCH)
    assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(expected, model.get_weights()))


def test_momentum_and_weights_stay(model):
    trained = [np.asarray(weight) for weight in model.trainable_weights]
    Recalibrator(model).recalibrate(pixels(), BATCH)
    assert [model.get_layer(name).momentum for name in ("first", "second")] == [0.9, 0.8]
    assert all(np.array_equal(before, after) for before, after in zip(trained, model.trainable_weights))
