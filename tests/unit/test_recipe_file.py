"""Recipes as files: an invalid entry is one line with file, line, key and the allowed values."""

import os
from dataclasses import replace

import pytest

from glsl_infer.errors import InputError
from training.recipe import Optimizer, Phase, Recipe, Schedule
from training.recipe_augmentation import Augmentation, Cutout, Mixing

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
    written = Recipe().as_yaml()
    for name in ("seed", "beta_2", "halve_every", "ema", "strength", "quarter_turns", "cutmix", "noise", "temperature"):
        assert f"{name}: " in written


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
