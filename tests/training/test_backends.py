"""JAX and TensorFlow give equal results, and so do one and two devices. Each runs in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from apply_variations import apply, pictures
from commands import SMALLEST, history

from training.augmentation import draw
from training.recipe_augmentation import Augmentation, Cutout, Mixing

pytestmark = pytest.mark.exhaustive

HERE = Path(__file__).parent
CHOSEN = Augmentation(perspective=20.0, gamma=0.2, hue=10.0, mixup=Mixing(0.4), cutmix=Mixing(0.4), cutout=Cutout(0.5))
VARIED = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import numpy as np
from test_backends import varied_pictures
np.save(sys.argv[1], varied_pictures())
"""


def varied_pictures():
    return apply(pictures(32, 15), draw(CHOSEN, 32, 1, 2), 11)


def python(backend, *arguments, devices=1):
    """Run Python with a backend of Keras, with this number of virtual devices for JAX."""
    environment = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    command = [sys.executable, *(str(argument) for argument in arguments)]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_variations_are_the_same(tmp_path):
    python("jax", "-c", VARIED, tmp_path / "jax.npy")
    here = varied_pictures()
    assert keras.backend.backend() == "tensorflow"
    assert here.std() > 0.1 and np.abs(here - np.load(tmp_path / "jax.npy")).max() < 1e-5


TRAINED = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from pathlib import Path
import small_loop
from training import train
from training.recipe import Average, Optimizer, Phase, Recipe, Schedule
from training.recipe_augmentation import Augmentation, Mixing
recipe = Recipe(batch=8, phases=(Phase(epochs=3),), schedule=Schedule(warmup=0.0), optimizer=Optimizer(rate=0.02),
                average=Average(ema=0.5), augmentation=Augmentation(mixup=Mixing(0.5)))
if len(sys.argv) > 2:
    train._use_all_devices(recipe.batch)
    assert small_loop.keras.distribution.distribution().device_mesh.devices.size == 2
small_loop.run(recipe, Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return the same short run with JAX on one device and on two."""
    folder = tmp_path_factory.mktemp("runs")
    python("jax", "-c", TRAINED, folder / "one")
    python("jax", "-c", TRAINED, folder / "two", "share", devices=2)
    return {"one": folder / "one", "two": folder / "two"}


def check(first, second, tolerance):
    assert len(history(first)) == len(history(second)) == 3
    for values, other in zip(history(first), history(second)):
        assert set(values) == set(other)
        for key in ("loss", "val_loss", "val_loss_average", "rate"):
            assert values[key] == pytest.approx(other[key], abs=tolerance), key


def test_two_devices_give_the_losses_of_one(runs):
    check(runs["one"], runs["two"], 1e-4)
    assert history(runs["one"])[-1]["loss"] < history(runs["one"])[0]["loss"]


def test_jax_validates_the_weights_that_it_has_trained(runs):
    for epoch in history(runs["one"]):
        assert np.isfinite(epoch["val_loss"])
    losses = [epoch["val_loss"] for epoch in history(runs["one"])]
    assert len(set(losses)) == 3 and losses[-1] < losses[0]


def test_a_batch_that_does_not_split_is_refused(image_folder, tmp_path):
    environment = {**os.environ, "KERAS_BACKEND": "jax", "XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    arguments = ["--data", image_folder, "--out", tmp_path / "run", *SMALLEST, "--data-parallel"]
    command = [sys.executable, "-m", "training.train", *(str(argument) for argument in arguments)]
    done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: --data-parallel: a batch of 8 does not split evenly among 3 devices\n"
    assert not (tmp_path / "run").exists()
