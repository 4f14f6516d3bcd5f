"""Files with custom objects whose code is missing: equivalents replace some, and the message names the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from glsl_infer.errors import InputError
from glsl_infer.graph import reference
from glsl_infer.importers import keras as importer

L, K = keras.layers, keras.ops


class Trainer(keras.Model):
    """Model with a custom training step."""

    def train_step(self, data: Any) -> Any:
        return super().train_step(data)


class Block(L.Layer):
    """Layer that adds channels, so an identity layer cannot replace it."""

    def build(self, shape: Any) -> None:
        self.inner = L.Conv2D(9, 1)
        self.inner.build(shape)

    def call(self, x: Any) -> Any:
        return self.inner(x)


def own_start(shape: Any, dtype: Any = None) -> Any:
    return K.ones(shape, dtype)


def own_function(x: Any) -> Any:
    return x * K.sigmoid(1.7 * x)


OWN = {f"mine>{own.__name__}": own for own in (Trainer, Block, own_start, own_function)}


def saved(model: keras.Model, path: Path) -> Path:
    """Save a model whose custom objects are registered only while it is saved."""
    objects, names = keras.saving.get_custom_objects(), keras.src.saving.object_registration.GLOBAL_CUSTOM_NAMES
    try:
        objects.update(OWN)
        names.update({own: name for name, own in OWN.items()})
        model.save(path / "model.keras")
    finally:
        for name, own in OWN.items():
            objects.pop(name), names.pop(own)
    return path / "model.keras"


def test_custom_training_steps_and_initializers_do_not_affect_the_import(tmp_path: Path) -> None:
    x = keras.Input((6, 5, 3))
    model = Trainer(x, L.Conv2D(4, 3, kernel_initializer=own_start)(x))
    picture = np.random.default_rng(0).integers(0, 256, (6, 5, 3), np.uint8)
    expected = np.asarray(model(picture[None] / np.float32(255)))[0]
    path = saved(model, tmp_path)
    (message,) = importer.survey(path).warnings
    assert "if its class mine>Trainer has a call of its own, that is missing" in message
    outputs = reference.run(importer.load(path), picture, mode="float")
    np.testing.assert_allclose(outputs, expected, rtol=0, atol=1e-5)


def test_a_custom_activation_is_named(tmp_path: Path) -> None:
    x = keras.Input((6, 5, 3))
    path = saved(keras.Model(x, L.Conv2D(4, 3, activation=own_function, name="conv")(x)), tmp_path)
    with pytest.raises(InputError, match="layer 'conv'"):
        importer.load(path)


def test_a_custom_layer_without_an_equivalent_is_named(tmp_path: Path) -> None:
    x = keras.Input((6, 5, 3))
    y = Block(name="block")(x)
    for head in (L.Conv2D(4, 3)(y), L.Add()([y, L.Conv2D(9, 1)(x)]), L.Reshape((10, 27))(y)):
        path = saved(keras.Model(x, head), tmp_path)
        with pytest.raises(InputError, match="layer 'block'"):
            importer.load(path)
