"""Training runs in tests: the real loop with a network so small that TensorFlow's start takes most of the time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np

from training.layers import PiecewiseLinearSigmoid
from training.loop import Loop, Pictures
from training.models import BYTE, LOGIT, POOLED
from training.recipe import Recipe
from training.run_folder import RunFolder, State

SIZE = 9


def build(size: int, *, conv: Any = keras.layers.Conv2D, stored: Any = None, momentum: float = 0.99) -> keras.Model:
    """Return a network of three classes, for odd sizes from 5."""
    if size < 5 or size % 2 == 0:
        raise ValueError(f"size={size}")
    keep = stored or (lambda tensor, step: tensor)
    inputs = keras.Input((size, size, 3), name="image")
    x = conv(4, 3, strides=2, use_bias=False, name="conv")(inputs)
    x = keras.layers.BatchNormalization(momentum=momentum, name="conv-bn")(x)
    x = keep(PiecewiseLinearSigmoid(name="conv-act")(x), BYTE)
    x = keep(keras.layers.GlobalAveragePooling2D(name="pool")(x), POOLED)
    return keras.Model(inputs, keep(keras.layers.Dense(3, name="Dense")(x), LOGIT))


def pictures(side: int = 11) -> Pictures:
    """Return images of noisy colours: 24 for training, 10 for validation."""
    rng = np.random.default_rng(0)

    def drawn(count: int, side: int) -> tuple[Any, Any]:
        labels = np.arange(count) % 3
        colours = 80 + 90 * np.eye(3)[labels][:, None, None]
        return np.clip(rng.normal(colours, 60, (count, side, side, 3)), 0, 255).astype(np.uint8), labels

    (train, train_labels), (val, val_labels) = drawn(24, side), drawn(10, SIZE)
    return Pictures(train, train_labels, drawn(16, SIZE)[0], val, val_labels, 3)


def loop(recipe: Recipe, path: Path, **options: Any) -> Loop:
    """Return a loop whose folder is ``path``."""
    keras.utils.set_random_seed(recipe.seed)
    report = options.pop("report", lambda entry: None)
    pictures_ = options.pop("pictures", None) or pictures()
    return Loop(recipe, options.pop("build", build), SIZE, pictures_, RunFolder(path), report, **options)


def run(recipe: Recipe, path: Path, **options: Any) -> Loop:
    """Start a run and finish it."""
    training = loop(recipe, path, **options)
    training.folder.start({}, recipe.as_yaml(), ("a", "b", "c"))
    training.run(None)
    return training


def resume(recipe: Recipe, path: Path) -> Loop:
    """Resume a run and finish it."""
    state, history = RunFolder(path).resume({}, recipe.as_yaml())
    training = loop(recipe, path, history=history)
    training.run(state)
    return training


def state_of(path: Path, recipe: Recipe) -> State:
    """Return the state from which a run would resume."""
    state, _ = RunFolder(path).resume({}, recipe.as_yaml())
    assert state is not None
    return state


def history(path: Path) -> list[dict[str, float]]:
    """Return the history entries without measured times."""
    entries = json.loads((path / "history.json").read_text())
    return [{key: value for key, value in epoch.items() if not key.startswith("seconds")} for epoch in entries]
