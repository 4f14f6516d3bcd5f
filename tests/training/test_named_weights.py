"""Weights of a user's X22, loaded by layer name, as ``glsl-infer get dogs`` does."""

from __future__ import annotations

from pathlib import Path

import h5py
import keras
import numpy as np
import pytest

from glsl_infer.errors import InputError
from training import named_weights
from training.models import x22


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[keras.Model, Path]:
    """Return a network with random weights, and its file in the format of older Keras versions."""
    keras.utils.set_random_seed(3)
    model = x22(33, 5, stages=2)
    for layer in model.layers:
        layer.set_weights([np.random.default_rng(7).uniform(0.1, 1, weight.shape) for weight in layer.get_weights()])
    path = tmp_path_factory.mktemp("weights") / "mine.h5"
    model.save(path)
    return model, path


def test_the_same_answers(saved: tuple[keras.Model, Path]) -> None:
    model, path = saved
    other = x22(33, 5, stages=2)
    picture = np.random.default_rng(0).uniform(0, 1, (1, 33, 33, 3)).astype(np.float32)
    assert not np.allclose(other(picture), model(picture))
    named_weights.set_weights(other, named_weights.read(path), path)
    np.testing.assert_array_equal(other(picture), model(picture))


@pytest.mark.parametrize(
    ("classes", "stages", "said"),
    [
        (6, 2, r"layer 'Dense' has weights of \d+x5, 5, not of \d+x6, 6"),
        (5, 1, "is none of the network's.*and .* more"),
    ],
)
def test_another_network_is_refused(saved: tuple[keras.Model, Path], classes: int, stages: int, said: str) -> None:
    _, path = saved
    other = x22(33, classes, stages=stages)
    before = other.get_weights()
    with pytest.raises(InputError, match=said):
        named_weights.set_weights(other, named_weights.read(path), path)
    assert all((one == two).all() for one, two in zip(before, other.get_weights()))


def test_what_is_no_file_of_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.h5").write_text("no weights")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["numbers"] = [1, 2]
    for name, said in (("text.h5", "cannot be read as HDF5"), ("other.h5", "has no 'layer_names'")):
        with pytest.raises(InputError, match=said):
            named_weights.read(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read"):
        named_weights.read(tmp_path / "nowhere.h5")
