"""A resumed run equals one without an interruption."""

import keras
import numpy as np
import pytest
import small_loop
from small_loop import history, resume, run, state_of

from training.recipe import Average, Consistency, Optimizer, Phase, Recipe, Schedule
from training.recipe_augmentation import Augmentation, Cutout, Mixing
from training.run_folder import RunFolder

pytestmark = pytest.mark.exhaustive

RECIPE = Recipe(
    batch=8,
    seed=5,
    validate_every=2,
    schedule=Schedule(warmup=1.0),
    optimizer=Optimizer(rate=0.03, weight_decay=0.1),
    average=Average(best=2, ema=0.7),
    phases=(Phase(epochs=3, scale=0.6), Phase(epochs=2, quantized=True)),
    augmentation=Augmentation(mixup=Mixing(0.5), cutout=Cutout(0.5)),
    consistency=Consistency(weight=0.5, noise=2.0),
)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "uninterrupted"
    run(RECIPE, path)
    return path


def close(result, expected):
    return len(result) == len(expected) and all(np.allclose(a, b, atol=2e-5) for a, b in zip(result, expected))


def check(path, expected):
    """Require the same history and state of a run as of an uninterrupted one."""
    assert len(history(path)) == len(history(expected)) == 5
    for result, epoch in zip(history(path), history(expected)):
        assert result == pytest.approx(epoch, abs=1e-4)
    result, state = state_of(path, RECIPE), state_of(expected, RECIPE)
    for name in ("weights", "optimizer", "average"):
        assert close(getattr(result, name), getattr(state, name)), name
    assert [best.epoch for best in result.best] == [best.epoch for best in state.best]
    assert all(close(a.weights, b.weights) for a, b in zip(result.best, state.best))
    assert result.top == pytest.approx(state.top, abs=1e-4)


class Interruption:
    """Ctrl-C at the nth rename of a file."""

    def __init__(self, patch, name, time):
        self.left, rename = time, small_loop.Path.replace

        def replace(path, target):
            if target.name == name:
                self.left -= 1
                if self.left == 0:
                    raise KeyboardInterrupt
            return rename(path, target)

        patch.setattr(small_loop.Path, "replace", replace)


def interrupted(path, name, time, work):
    """Do ``work`` until the interruption, and return the epoch and history length from which a run would resume."""
    with pytest.MonkeyPatch.context() as patch:
        Interruption(patch, name, time)
        with pytest.raises(KeyboardInterrupt):
            work(RECIPE, path)
    state, entries = RunFolder(path).resume({}, RECIPE.as_yaml())
    return state.epoch if state else None, len(entries)


def test_a_run_interrupted_four_times_ends_the_same(uninterrupted, tmp_path):
    # The first epoch is not validated. In the second, a model is written before the first state:
    assert interrupted(tmp_path, "state.npz", 1, run) == (None, 0)
    # At the end of the first phase, between history and state:
    assert interrupted(tmp_path, "state.npz", 2, resume) == (2, 2)
    # Within the second, after a better model and before any other file:
    assert interrupted(tmp_path, "history.json", 2, resume) == (3, 3)
    # After everything except the average of the best:
    assert interrupted(tmp_path, "history.json", 3, resume) == (5, 5)
    resume(RECIPE, tmp_path)
    check(tmp_path, uninterrupted)


def test_resuming_a_finished_run_changes_no_results(uninterrupted):
    before = history(uninterrupted)
    model = keras.saving.load_model(uninterrupted / "model.keras").get_weights()
    resume(RECIPE, uninterrupted)
    assert close(keras.saving.load_model(uninterrupted / "model.keras").get_weights(), model)
    for result, epoch in zip(history(uninterrupted), before):
        assert result == pytest.approx(epoch, abs=1e-5)
