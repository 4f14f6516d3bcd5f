"""Rows of the input image: the values of its bytes."""

from __future__ import annotations

from typing import Any

from operator_table.row import Group, L, Row

BYTES = (0.0, 255.0)


def conv(x: Any) -> Any:
    """Return the first convolution of a network; its padding shows whether 0 stays 0."""
    return L.Conv2D(8, 3, padding="same", activation="sigmoid", name="stem")(x)


def linear(x: Any) -> Any:
    """Return the same without its activation, because a sigmoid of large values would be only 0 and 1."""
    return L.Conv2D(8, 3, padding="same", name="stem")(x)


def _augmented(x: Any) -> Any:
    for layer in (L.RandomFlip(), L.RandomRotation(0.1), L.RandomTranslation(0.1, 0.1), L.RandomZoom(0.1)):
        x = layer(x)
    for name in ("RandomBrightness", "RandomContrast", "RandomColorDegeneration", "RandomHue", "RandomSaturation"):
        x = getattr(L, name)(0.1)(x)
    for name in ("RandomSharpness", "RandomPosterization"):
        x = getattr(L, name)(1)(x)
    for name in ("AugMix", "CutMix", "MixUp", "RandAugment", "Solarization", "RandomColorJitter", "RandomShear"):
        x = getattr(L, name)()(x)
    for name in ("ElasticTransform", "Erasing", "GaussianBlur", "Grayscale", "Invert", "Perspective"):
        x = getattr(L, f"Random{name}")()(x)
    height, width = x.shape[1:3]
    return conv(L.MaxNumBoundingBoxes(1)(L.RandomCrop(height, width)(x)))


_PICTURE = "any height and width"
_FREE = "free if nothing else reads it"
_FOLDED: dict[str, Any] = {"without": conv, "into": "the image's range"}

PICTURE = Group(
    "The image",
    "The meaning of bytes is folded into weights. `export` assumes 0 to 255 for a model that begins with a rescaling "
    "by 1/32 or less, else 0 to 1. `--input-range LOW,HIGH` overrides this.",
    (
        Row("Input", "values 0 to 1", conv, _PICTURE, **_FOLDED),
        Row("Input", "1 channel: grey", conv, _PICTURE, **_FOLDED, channels=1),
        Row("Input", "4 channels: colours and alpha", conv, _PICTURE, **_FOLDED, channels=4),
        Row(
            "Normalization",
            "first in the model",
            lambda x: conv(L.Normalization(mean=[0.4, 0.5, 0.6], variance=[0.04, 0.05, 0.06])(x)),
            _FREE,
            **_FOLDED,
        ),
        Row(
            "Input",
            "values -1 to 1: `--input-range -1,1`",
            conv,
            "not with ZeroPadding2D alone",
            **_FOLDED,
            input_range=(-1.0, 1.0),
            bytes=(-1.0, 1.0),
        ),
        Row("Rescaling", "first in the model", lambda x: conv(L.Rescaling(1 / 255)(x)), _FREE, **_FOLDED, bytes=BYTES),
        Row("BatchNormalization", "first in the model", lambda x: conv(L.BatchNormalization()(x)), _FREE, **_FOLDED),
        Row("`x / 127.5 - 1`", "first in the model", lambda x: conv(x / 127.5 - 1.0), _FREE, **_FOLDED, bytes=BYTES),
        Row(
            "Random..., AugMix, CutMix, MixUp, RandAugment, Solarization, MaxNumBoundingBoxes",
            "augmentation",
            _augmented,
            "dropped",
            without=conv,
            into="nothing",
        ),
    ),
)
