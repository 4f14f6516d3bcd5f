"""Tests 1 and 2: classification into 1,000 classes by MobileNet v1 and Inception v3."""

from __future__ import annotations

from training.backend import keras


def mobilenet(height: int = 224, width: int = 224) -> keras.Model:
    """Return MobileNet v1 1.0 with logits (Howard et al., 2017)."""
    model: keras.Model = keras.applications.MobileNet(
        weights=None, input_shape=(height, width, 3), classifier_activation=None
    )
    return model


def inception_v3(height: int = 346, width: int = 346) -> keras.Model:
    """Return Inception v3 with logits (Szegedy et al., 2015), without the auxiliary head for training."""
    model: keras.Model = keras.applications.InceptionV3(
        weights=None, input_shape=(height, width, 3), classifier_activation=None
    )
    return model
