"""The course of a run: phases, validation, and the choice of weights."""

from __future__ import annotations

import json

import keras
import numpy as np
import pytest
import small_loop
from small_loop import SIZE, history, pictures, run

import training.loop
from glsl_infer.errors import RunError
from training.layers import Stored
from training.recipe import Average, Consistency, Optimizer, Phase, Recipe, Schedule
from training.recipe_augmentation import Augmentation, Mixing
from training.validation import Validator

RECIPE = Recipe(batch=8, phases=(Phase(epochs=5),), schedule=Schedule(warmup=0.0), optimizer=Optimizer(rate=0.05))


def validated(path):
    return [epoch["epoch"] for epoch in history(path) if "val_loss" in epoch]


def score(path, *, stored=None):
    """Evaluate model.keras again as saved, with its own batch norm."""
    model = keras.saving.load_model(path / "model.keras")
    data = pictures()
    judge = small_loop.build(SIZE, stored=stored)
    for layer in model.layers:
        judge.get_layer(layer.name).set_weights(layer.get_weights())
    logits = np.asarray(judge(data.val / np.float32(255), training=False))
    return float(np.mean(logits.argmax(axis=1) == data.val_labels))


def best(path):
    return max(value for epoch in history(path) for key, value in epoch.items() if key.startswith("val_accuracy"))


# --- phases


@pytest.fixture(scope="module")
def phased(tmp_path_factory):
    """Return the folder of a run of three phases that differ in everything, its built networks, and its batches."""
    built, batches = [], []

    def build(size, **options):
        network = small_loop.build(size, **options)
        if "momentum" in options:  # a network to train
            stores = [layer for layer in network.layers if isinstance(layer, Stored)]
            built.append(
                {
                    "size": size,
                    "policy": network.get_layer("conv").dtype_policy.name,
                    "momentum": network.get_layer("conv-bn").momentum,
                    "quantized": [layer.quantized for layer in stores],
                }
            )
        return network

    class Noted(training.loop.Batches):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            batches.append((self.batch, self.strength, self.mixing))

    recipe = Recipe(
        batch=8,
        seed=2**32 - 1,
        validate_every=2,
        batch_norm_momentum=0.75,
        schedule=Schedule(warmup=0.0),
        phases=(
            Phase(epochs=3, scale=0.6, precision="bfloat16", strength=0.5),
            Phase(epochs=2, scale=1.7, strength=0.25),
            Phase(epochs=1, mixing=False, quantized=True),
        ),
        augmentation=Augmentation(mixup=Mixing(0.5)),
        average=Average(best=2),
    )
    path = tmp_path_factory.mktemp("runs") / "phased"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training.loop, "Batches", Noted)
        policy = keras.config.dtype_policy().name
        run(recipe, path, build=build)
        assert keras.config.dtype_policy().name == policy
    return path, built, batches


def test_phases_size_precision_and_rounding(phased):
    assert phased[1] == [
        {"size": 5, "policy": "mixed_bfloat16", "momentum": 0.75, "quantized": []},
        {"size": 15, "policy": "float32", "momentum": 0.75, "quantized": []},
        {"size": 9, "policy": "float32", "momentum": 0.75, "quantized": [True, True, True]},
    ]


def test_phases_strength_and_mixing(phased):
    assert phased[2] == [(8, 0.5, True), (8, 0.25, True), (8, 1.0, False)]


def test_validation_every_so_often_and_at_the_end_of_each_phase(phased):
    assert [epoch["epoch"] for epoch in history(phased[0])] == [1, 2, 3, 4, 5, 6]
    assert validated(phased[0]) == [2, 3, 4, 5, 6]


def test_the_model_is_judged_as_it_will_run(phased):
    """A recipe with a quantised phase selects among quantised networks."""
    assert score(phased[0], stored=lambda tensor, step: Stored(step)(tensor)) == pytest.approx(best(phased[0]))


def test_rates_go_on_from_phase_to_phase(phased):
    rates = [row["rate"] for row in history(phased[0])]
    expected = [0.003 * 0.5 * (1 + np.cos(np.pi * min(3 * epoch, 17) / 18)) for epoch in range(1, 7)]
    assert rates == pytest.approx(expected, abs=1e-6)


# --- saved weights


@pytest.fixture(scope="module")
def averaged(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "averaged"
    messages = []
    recipe = Recipe(
        batch=8,
        phases=(Phase(epochs=5),),
        schedule=Schedule(warmup=0.0),
        optimizer=Optimizer(rate=0.05),
        average=Average(best=3, ema=0.8),
    )
    run(recipe, path, report=messages.append)
    return path, recipe, messages


def test_the_history_has_all_metrics_of_each_epoch(averaged):
    entries = json.loads((averaged[0] / "history.json").read_text())
    keys = {"epoch", "loss", "accuracy", "rate", "seconds", "val_loss", "val_accuracy", "seconds_val"}
    keys |= {"val_loss_average", "val_accuracy_average"}
    assert all(set(epoch) == keys for epoch in entries[:-1])
    assert set(entries[-1]) == keys | {"val_loss_best", "val_accuracy_best"}
    assert [epoch["epoch"] for epoch in averaged[2]] == [1, 2, 3, 4, 5], "all were told of"


def test_the_saved_model_has_the_best_validation_score(averaged):
    assert score(averaged[0]) == pytest.approx(best(averaged[0]))


def test_the_model_is_of_keras_own_layers_in_float32(averaged):
    model = keras.saving.load_model(averaged[0] / "model.keras")
    assert type(model.get_layer("conv")) is keras.layers.Conv2D
    assert model.get_layer("conv").dtype_policy.name == "float32" and not any(
        isinstance(layer, Stored) for layer in model.layers
    )


def test_averages_are_those_of_the_weights(averaged):
    path, recipe, _ = averaged
    state = small_loop.state_of(path, recipe)
    data = pictures()
    judge = Validator(small_loop.build(SIZE), data.typical, data.val, data.val_labels, 8)
    last = history(path)[-1]
    assert judge.score(state.weights).loss == pytest.approx(last["val_loss"], abs=1e-4)
    assert judge.score(state.average).loss == pytest.approx(last["val_loss_average"], abs=1e-4)
    middle = [np.mean([best.weights[index] for best in state.best], axis=0) for index in range(len(state.weights))]
    assert judge.score(middle).loss == pytest.approx(last["val_loss_best"], abs=1e-4)
    ranks = [(row["val_accuracy"], -row["val_loss"], row["epoch"]) for row in history(path)]
    assert [best.epoch for best in state.best] == [epoch for _, _, epoch in sorted(ranks, reverse=True)[:3]]
    assert state.average[0].shape == state.weights[0].shape and not np.allclose(state.average[0], state.weights[0])


def test_a_start_is_where_it_begins(tmp_path):
    still = Recipe(batch=8, phases=(Phase(epochs=1),), optimizer=Optimizer(rate=1e-12, weight_decay=0.0))
    start = [0.5 * np.asarray(variable) + 0.1 for variable in small_loop.build(SIZE).trainable_variables]
    run(still, tmp_path, start=start)
    model = keras.saving.load_model(tmp_path / "model.keras")
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(model.trainable_variables, start))


# --- failures


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    absurd = Recipe(batch=8, phases=(Phase(epochs=3),), consistency=Consistency(weight=1e38, noise=32.0))
    with pytest.raises(RunError, match=r"epoch 1: the loss is (nan|inf), no finite .* lower optimizer.rate"):
        run(absurd, tmp_path)
    assert history(tmp_path) == [] and not (tmp_path / "state.npz").exists()


def test_batches_larger_than_the_data(tmp_path):
    run(Recipe(batch=100, phases=(Phase(epochs=1),)), tmp_path)
    assert validated(tmp_path) == [1]
