"""Recipes and their learning rates; an invalid entry of a file is one line with file, line, key and allowed values."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glsl_infer.errors import InputError
from training.recipe import Optimizer, Phase, Recipe, Schedule
from training.recipe_augmentation import Augmentation, Cutout, Mixing
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


def test_halving_stops_at_the_final_rate_and_can_last_part_of_an_epoch():
    rates = learning_rates(scheduled(3, kind="halving", warmup=0, plateau=1, halve_every=0.5, final=0.2), 4)
    assert rates == pytest.approx([0.8] * 4 + [0.4] * 2 + [0.2] * 2 + [0.16] * 4)


def test_warm_up_and_plateau_end_with_the_run():
    assert learning_rates(scheduled(2, warmup=4), 1) == pytest.approx([0.2, 0.4])
    assert learning_rates(scheduled(2, warmup=0, plateau=9), 1) == pytest.approx([0.8, 0.8])


def test_phases_are_one_run():
    rates, two = scheduled(6), replace(scheduled(6), phases=(Phase(4), Phase(2)))
    assert np.array_equal(learning_rates(rates, 3), learning_rates(two, 3))


def test_a_shorter_run_has_the_same_shape():
    full_run = scheduled(600, warmup=30, plateau=400, kind="halving", halve_every=50)
    short = full_run.changed(epochs=12)
    assert short.epochs == 12 and np.allclose(learning_rates(full_run, 1)[::50][-4:], learning_rates(short, 1)[-4:])
    assert np.allclose(learning_rates(short, 50), learning_rates(full_run, 1))


def test_a_run_can_be_too_short_for_all_phases():
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


OTHER = Recipe(
    seed=7,
    batch=48,
    label_smoothing=0.1,
    optimizer=Optimizer(name="adam", rate=1e-5, weight_decay=0, clip_norm=1),
    schedule=Schedule(kind="halving", plateau=0.25, halve_every=2.5),
    phases=(Phase(3, scale=0.66, precision="bfloat16"), Phase(2, quantized=True, mixing=False, strength=0.5)),
    augmentation=Augmentation(scale=(0.5, 1), mixup=Mixing(0.3, 0.2), cutout=Cutout(0.1, (0.2, 0.2))),
)


def refused(text):
    with pytest.raises(InputError) as error:
        Recipe.parse(text, "r.yaml")
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("original", [Recipe(), OTHER], ids=["defaults", "other"])
def test_written_recipes_are_read_back(original):
    assert Recipe.parse(original.as_yaml(), "r.yaml") == original


def test_every_setting_is_spelled_out():
    text = Recipe().as_yaml()
    for name in ("seed", "beta_2", "halve_every", "ema", "strength", "quarter_turns", "cutmix", "noise", "temperature"):
        assert f"{name}: " in text


def test_missing_keys_have_defaults():
    assert Recipe.parse("optimizer: {rate: 1e-2}", "r") == Recipe(optimizer=Optimizer(rate=0.01))
    assert Recipe.parse("{}", "r") == Recipe()


def test_comments_anchors_and_quotes_are_yaml_as_usual():
    text = "# one\nphases:\n  - &first {epochs: 2}\n  - *first\noptimizer: {name: 'adamw'}  # the default\n"
    assert Recipe.parse(text, "r") == Recipe(phases=(Phase(2), Phase(2)))


@pytest.mark.parametrize(
    "text, line, expected",
    [
        ("seed: 1\nbach: 64", 2, "bach is not a setting; did you mean batch?"),
        ("rate: 0.01", 1, "rate is not a setting; did you mean optimizer.rate?"),
        ("epochs: 600", 1, "epochs is not a setting; did you mean phases.epochs?"),
        (
            "optimizer:\n  nmae: adam",
            2,
            "optimizer.nmae is not a setting; did you mean name? optimizer has name, rate,",
        ),
        ("phases:\n- {epochs: 3}\n- {epoch: 3}", 3, "phases[1].epoch is not a setting; did you mean epochs?"),
        ("colour: 1", 1, "colour is not a setting; the top level has seed, batch,"),
        ("[1, 2]: 3", 1, "a list is not a setting"),
        ("seed: 1\nseed: 2", 2, "seed is there twice"),
    ],
)
def test_unknown_keys_are_refused(text, line, expected):
    assert refused(text).startswith(f"r.yaml:{line}: {expected}")


@pytest.mark.parametrize(
    "text, line, expected",
    [
        ("\nbatch: 0", 2, "batch is '0'; it must be a whole number of at least 1"),
        ("batch: 3.5", 1, "batch is '3.5'; it must be a whole number"),
        ("batch: 0x10", 1, "batch is '0x10'"),
        ("batch: '64'x", 1, "is not YAML"),
        ("batch: true", 1, "batch is 'true'"),
        ("batch: " + "9" * 5000, 1, "batch is '999"),
        ("seed: -1", 1, "seed is '-1'; it must be a whole number from 0 to 4294967295"),
        ("label_smoothing: 1", 1, "label_smoothing is '1'; it must be a number from 0 to below 1"),
        ("label_smoothing: .nan", 1, "label_smoothing is '.nan'"),
        ("optimizer: {rate: 0}", 1, "optimizer.rate is '0'; it must be a number above 0 and up to 1"),
        ("optimizer: {clip_norm: 1e999}", 1, "optimizer.clip_norm is '1e999'; it must be a number of at least 0"),
        ("optimizer: {name: sgd}", 1, "optimizer.name is 'sgd'; it must be adam or adamw"),
        ("optimizer: adam", 1, "optimizer is 'adam'; it must be a group of settings"),
        ("optimizer:\nseed: 1", 1, "optimizer is empty"),
        ("seed:\n", 1, "seed is empty; it must be a whole number"),
        ("seed: null", 1, "seed is 'null'"),
        ("schedule:\n  kind: [cosine]", 2, "schedule.kind is a list; it must be cosine or halving"),
        ("phases: []", 1, "phases is a list; it must be a list of groups, at least one"),
        ("phases: {epochs: 3}", 1, "phases is a group; it must be a list of groups, at least one"),
        ("phases:\n- epochs: 3\n- 4", 3, "phases[1] is '4'; it must be a group of settings"),
        ("phases:\n- epochs: 3\n  quantized: yes", 3, "phases[0].quantized is 'yes'; it must be true or false"),
        ("augmentation:\n  scale: [1.1, 0.9]", 2, "augmentation.scale is a list; it must be [lowest, highest], two"),
        ("augmentation: {scale: [1, 1, 1]}", 1, "augmentation.scale is a list"),
        ("augmentation: {scale: [1, [2]]}", 1, "augmentation.scale is a list"),
        ("augmentation: {cutout: {size: 0.3}}", 1, "augmentation.cutout.size is '0.3'"),
        ("3", 1, "is '3'; it must be a group of settings"),
    ],
)
def test_values_that_are_not_allowed(text, line, expected):
    message = refused(text)
    assert message.startswith(f"r.yaml:{line}: {expected}") and len(message) < 250


@pytest.mark.parametrize(
    "text, line, expected",
    [
        (
            "seed: 1\noptimizer:\n  name: adam\n  weight_decay: 0.1",
            3,
            "optimizer: weight_decay is 0.1, but adam has none",
        ),
        ("schedule: {kind: halving}", 1, "schedule: plateau is 0"),
        (
            "augmentation: {mixup: {share: 0.5}, cutmix: {share: 0.6}}",
            1,
            "augmentation: mixup.share 0.5 and cutmix.share 0.6",
        ),
    ],
)
def test_settings_that_do_not_go_together(text, line, expected):
    assert refused(text).startswith(f"r.yaml:{line}: {expected}")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "r.yaml: holds no settings"),
        ("# nothing\n", "r.yaml: holds no settings"),
        ("seed: 1\n  batch: 2", "r.yaml:2: is not YAML (mapping values are not allowed here)"),
        ("seed: 1\n---\nseed: 2", "r.yaml:2: is not YAML (but found another document)"),
        ("seed: \x01", "r.yaml: is not YAML (unacceptable character"),
        ("[" * 5000, "r.yaml: is not YAML"),
    ],
)
def test_invalid_yaml_is_refused(text, expected):
    assert refused(text).startswith(expected)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"seed: 1 # \xe9")
    (tmp_path / "large.yaml").write_bytes(b"#" * (2 << 20))
    os.mkfifo(tmp_path / "pipe.yaml")
    for name, expected in {
        "none.yaml": "no such file",
        "latin.yaml": "not UTF-8 text",
        "large.yaml": "larger than 256 KiB",
        "pipe.yaml": "is a pipe",
        ".": "is a folder",
        "a\0b": "cannot be read",
    }.items():
        with pytest.raises(InputError, match=expected):
            Recipe.read(tmp_path / name)


def test_recipes_made_in_python_are_checked_as_well():
    with pytest.raises(InputError, match="batch is 0; it must be a whole number of at least 1"):
        replace(Recipe(), batch=0)
    with pytest.raises(InputError, match="a list of groups, at least one"):
        Recipe(phases=())
    with pytest.raises(InputError, match="a group of settings"):
        Recipe(optimizer="adam")
    assert isinstance(Optimizer(rate=1).rate, float)
