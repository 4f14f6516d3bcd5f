"""Recipes and their learning rates, compared with results worked out by hand."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glsl_infer.errors import InputError
from training.recipe import Optimizer, Phase, Recipe, Schedule
from training.schedule import learning_rates

ROOT = Path(__file__).resolve().parents[2]
ARTICLE = ROOT / "recipes" / "article.yaml"


def scheduled(epochs, rate=0.8, **schedule):
    return Recipe(optimizer=Optimizer(rate=rate), schedule=Schedule(**schedule), phases=(Phase(epochs),))


def test_epochs_are_the_sum_of_the_phases():
    phases = (Phase(3, strength=0.1), Phase(1), Phase(2, quantized=True))
    recipe = Recipe(phases=phases)
    assert recipe.epochs == 6
    assert [phases.index(recipe.phase(epoch)) for epoch in range(6)] == [0, 0, 0, 1, 2, 2]
    for outside in (-1, 6):
        with pytest.raises(IndexError):
            recipe.phase(outside)


@pytest.mark.parametrize("path", sorted((ROOT / "recipes").glob("*.yaml")), ids=lambda path: path.name)
def test_the_recipes_that_come_with_the_project(path):
    recipe = Recipe.read(path)
    assert Recipe.parse(recipe.as_yaml(), "written") == recipe


def test_the_articles_recipe_has_its_settings():
    recipe = Recipe.read(ARTICLE)
    assert (recipe.batch, recipe.epochs, recipe.average.best, recipe.label_smoothing) == (64, 600, 3, 0)
    variations = recipe.augmentation
    assert (variations.mixup.share, variations.mixup.alpha, variations.cutmix.share) == (0.5, 0.4, 0)
    assert (variations.perspective, variations.rotation, variations.hue) == (20, 15, 10)
    assert (variations.cutout.share, variations.cutout.size) == (0.5, (0.3, 0.5))
    assert (variations.saturation, variations.brightness, variations.gamma, variations.contrast) == (0.4, 0.1, 0.2, 0)


def test_the_article_halves_its_rate():
    rates = learning_rates(Recipe.read(ARTICLE), 3)
    assert rates.dtype == np.float32 and rates.shape == (1800,)
    epochs = rates.reshape(600, 3)
    assert (epochs == epochs[:, :1]).all(), "it changes between epochs only"
    expected = {0: 0.01, 399: 0.01, 400: 0.005, 449: 0.005, 450: 0.0025, 500: 0.00125, 550: 0.000625, 599: 0.000625}
    assert {epoch: epochs[epoch, 0] for epoch in expected} == pytest.approx(expected)


def test_cosine_with_warm_up_and_plateau():
    schedule = scheduled(10, warmup=1, plateau=2, final=0.1, kind="cosine")
    rates = learning_rates(schedule, 2)
    # Two steps of warm-up, two more until the end of the plateau, sixteen of half a cosine from 0.8 to 0.08.
    assert rates[:5] == pytest.approx([0.4, 0.8, 0.8, 0.8, 0.8])
    assert rates[12] == pytest.approx((0.8 + 0.08) / 2)
    assert rates[8] == pytest.approx(0.08 + 0.72 * (1 + 0.5**0.5) / 2)
    assert 0.08 < rates[-1] < 0.09 and (np.diff(rates[4:]) < 0).all()


def test_a_plateau_below_one_is_a_share_of_all_epochs():
    share, epochs = (learning_rates(scheduled(10, plateau=plateau), 5) for plateau in (0.6, 6))
    assert np.array_equal(share, epochs) and rates_fall_at(share) == 30


def rates_fall_at(rates):
    """Return the first step with a lower rate after it, where the decay begins."""
    return int(np.argmax(np.diff(rates) < 0))


def test_the_decay_waits_for_the_warm_up():
    rates = learning_rates(scheduled(10, warmup=4, plateau=2), 5)
    assert rates[:20] == pytest.approx(0.8 * np.arange(1, 21) / 20) and rates_fall_at(rates) == 20


def test_halving_stops_at_the_final_rate_and_may_take_part_of_an_epoch():
    rates = learning_rates(scheduled(3, kind="halving", warmup=0, plateau=1, halve_every=0.5, final=0.2), 4)
    assert rates == pytest.approx([0.8] * 4 + [0.4] * 2 + [0.2] * 2 + [0.16] * 4)


def test_warm_up_and_plateau_end_with_the_run():
    assert learning_rates(scheduled(2, warmup=4), 1) == pytest.approx([0.2, 0.4])
    assert learning_rates(scheduled(2, warmup=0, plateau=9), 1) == pytest.approx([0.8, 0.8])


def test_phases_are_one_run():
    rates, two = scheduled(6), replace(scheduled(6), phases=(Phase(4), Phase(2)))
    assert np.array_equal(learning_rates(rates, 3), learning_rates(two, 3))


def test_a_shorter_run_has_the_same_shape():
    whole = scheduled(600, warmup=30, plateau=400, kind="halving", halve_every=50)
    short = whole.changed(epochs=12)
    assert short.epochs == 12 and np.allclose(learning_rates(whole, 1)[::50][-4:], learning_rates(short, 1)[-4:])
    assert np.allclose(learning_rates(short, 50), learning_rates(whole, 1))


def test_a_run_may_be_too_short_for_all_phases():
    phases = (Phase(10, scale=0.5), Phase(10), Phase(1, quantized=True))
    assert [phase.epochs for phase in replace(Recipe(), phases=phases).changed(epochs=42).phases] == [20, 20, 2]
    short = Recipe(phases=phases).changed(epochs=2, batch=5, seed=9)
    assert (short.epochs, short.batch, short.seed) == (2, 5, 9)
    assert [phase.scale for phase in short.phases] == [0.5, 1.0]
    with pytest.raises(InputError, match="epochs is 0"):
        Recipe().changed(epochs=0)
    assert Recipe().changed() == Recipe()


def test_an_epoch_has_steps():
    with pytest.raises(ValueError, match="steps_per_epoch=0"):
        learning_rates(Recipe(), 0)


def test_keras_is_not_imported():
    script = (
        "import sys, training.recipe, training.schedule; assert not {'keras', 'tensorflow', 'yaml'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
