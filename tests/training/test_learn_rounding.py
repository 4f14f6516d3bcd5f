"""A Keras network that rounds at the same tensors as its export is trained toward its float outputs."""

import keras
import numpy as np
import pytest
from keras import layers as L

from glsl_infer.graph import reference
from glsl_infer.importers.keras import reader
from training import learn_rounding
from training.rounded import RoundedAsStored, rounded, stored

pytestmark = pytest.mark.exhaustive

RNG = np.random.default_rng(0)
PICTURES = list(RNG.integers(0, 256, (40, 16, 16, 3), np.uint8))


def network():
    """Return a residual network with a batch norm, a separate activation layer, a pool, and a vector as output."""
    keras.utils.set_random_seed(1)
    image = keras.Input((16, 16, 3), name="image")
    x = L.Conv2D(8, 3, name="first")(image)
    x = L.BatchNormalization(name="norm")(x)
    first = L.ReLU(name="relu")(x)
    x = L.Conv2D(8, 3, padding="same", activation="relu", name="second")(first)
    x = L.Add(name="sum")([x, first])
    x = L.DepthwiseConv2D(3, name="depthwise")(x)
    x = L.MaxPooling2D(name="pool")(x)
    x = L.Conv2D(6, 1, name="last")(x)
    return keras.Model(image, L.GlobalAveragePooling2D(name="mean")(x))


def test_rounded_outputs_equal_the_exact_reference():
    model = network()
    prepared, ranges = stored(model, PICTURES[:8], precision="8")
    copy = rounded(model, PICTURES[:8], precision="8")
    assert {"relu", "sum", "depthwise"} < {name.removesuffix("-activation") for name in ranges} and not copy.left_out
    values = np.stack(PICTURES[8:12]).astype(np.float32) / 255.0
    exact = np.stack([reference.run(prepared, picture) for picture in PICTURES[8:12]])
    floats = np.asarray(model(values))
    outputs = np.asarray(copy.network(values))
    assert np.abs(outputs - exact).max() < 0.1 * np.abs(floats - exact).max()
    assert sum(isinstance(layer, RoundedAsStored) for layer in copy.network.layers) == len(copy.rounds)
    assert copy.network.count_params() == model.count_params()


def test_a_sequential_model_is_taught():
    model = keras.Sequential(
        [
            keras.Input((16, 16, 3)),
            L.Conv2D(8, 3, activation="relu"),
            L.Conv2D(4, 3, activation="relu"),
            L.GlobalAveragePooling2D(),
        ]
    )
    before, after, rounds, left_out = learn_rounding.teach(
        model, PICTURES[:10], epochs=1, rate=1e-4, batch=8, precision="8"
    )
    assert 0.0 < after <= before and len(rounds) == 2 and not left_out


def test_steps_of_16_bits_are_256_times_finer_and_ends_are_kept():
    values = np.linspace(-2.0, 3.0, 5001, dtype=np.float32)[:, None]
    eight, sixteen = (np.asarray(RoundedAsStored([2.0], [51.0], bits)(values)) for bits in (8, 16))
    assert eight.min() == pytest.approx(-0.4) and eight.max() == pytest.approx(1.6)
    within = (values > -0.4) & (values < 1.6)
    assert 0.9 < np.abs(eight - values)[within].max() / (1.0 / 255.0) <= 1.001
    assert np.abs(sixteen - values)[within].max() <= 1.01 / 255.0 / 256.0
    assert 0.0 in eight


class Coarse(RoundedAsStored):
    """Rounding to 4 bits, coarse enough for a tiny network to adapt."""

    def __init__(self, scales, zeros, bits, **kwargs):
        super().__init__(scales, 16.0 * np.round(np.asarray(zeros) / 16.0), 4, **kwargs)


def test_training_brings_the_rounded_network_nearer_to_its_float_answers(monkeypatch):
    monkeypatch.setattr("training.rounded.RoundedAsStored", Coarse)
    model = network()
    before, after, rounds, _ = learn_rounding.teach(model, PICTURES, epochs=8, rate=3e-4, batch=4, precision="8")
    assert len(rounds) >= 5
    assert after < 0.9 * before
    assert all(layer.trainable for layer in model.layers)
    assert [node.op for node in reader.to_graph(model).nodes]  # the network can still be exported


def test_layers_without_learnable_rounding_are_reported(tmp_path, capsys):
    model = tmp_path / "model.keras"
    network().save(model)
    (tmp_path / "none").mkdir()
    assert learn_rounding.main([str(model), "--data", str(tmp_path / "none"), "--out", str(tmp_path / "o.keras")]) == 2
    assert learn_rounding.main([str(model), "--data", str(tmp_path), "--out", str(tmp_path / "o.h5")]) == 2
    assert "name the file *.keras" in capsys.readouterr().err
