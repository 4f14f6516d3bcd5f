"""Layers refused because of their position or size, and refused models."""

from __future__ import annotations

from typing import Any

from operator_table.row import KERAS, L, Refusal, stem, vector

_NO_RANGE = "; give typical images with --images DIR, or follow the layer with ReLU(max_value=...) or a sigmoid"


def _unread(x: Any) -> Any:
    return KERAS.Model([x, KERAS.Input((4,), name="other")], stem(x))


def _pool_of_inverted(x: Any) -> Any:
    return L.MaxPooling2D(2, name="subject")(x)


RANGES = (
    Refusal(
        "Conv2D, Add, BatchNormalization ...",
        "without activation, no `--images`",
        f"the values of 'linear' have no fixed range{_NO_RANGE}",
        lambda x: L.Conv2D(8, 3, name="subject")(stem(x)),
        calibrated=False,
    ),
    Refusal(
        "Conv2D, ReLU ...",
        "relu, no `--images`",
        f"the values of 'relu' have no fixed range{_NO_RANGE}",
        lambda x: L.Conv2D(8, 3, activation="relu", name="subject")(stem(x)),
        calibrated=False,
    ),
    Refusal(
        "MaxPooling2D",
        "of the image, whose larger bytes are smaller values",
        "a maximum of an image whose larger bytes are smaller values; let a convolution come first, or rescale by a "
        "positive factor",
        _pool_of_inverted,
        input_range=(1.0, 0.0),
    ),
    Refusal(
        "ZeroPadding2D",
        "alone around an image of which byte 0 is not 0",
        "zeros around the image, whose gutter holds bytes of 0; let the next convolution pad, or a 1x1 "
        "convolution of the image come first",
        lambda x: L.MaxPooling2D(2)(L.ZeroPadding2D(1, name="subject")(x)),
        input_range=(-1.0, 1.0),
    ),
)

PLACES_OF_LAYERS = (
    Refusal(
        "Softmax",
        "of more than 1,024 values, not at the end",
        "vector softmax of 1026 values; at most 1024 are supported; use a shorter Dense before it",
        lambda x: L.Dense(3)(L.Softmax(name="subject")(L.Dense(1026)(vector(x)))),
    ),
)

SIZES = (
    Refusal(
        "Flatten",
        "more than 4,096 values, without a Dense after it",
        "flattening a map of 20x20 pixels and 12 channels; at most 4096 values are supported, more only in front of "
        "Dense; pool more, or use GlobalAveragePooling2D",
        lambda x: L.Flatten(name="subject")(stem(x, 12)),
        shape=(20, 20, 3),
    ),
    Refusal(
        "`x[:, 1:]`",
        "of a vector of more than 4,096 values",
        "a vector_gather of a vector of 4200 values; at most 4096 values are supported, more only from Flatten or "
        "Concatenate to Dense",
        lambda x: L.Dense(4200)(vector(x))[:, 1:],
        subject="get_item",
    ),
    Refusal(
        "all layers on maps",
        "an output that fits no texture of 2048x2048",
        "its output of 2050x2050 pixels and 4 channels fits no texture of 2048x2048",
        lambda x: L.UpSampling2D(410, name="subject")(stem(x, 4)),
        shape=(5, 5, 3),
    ),
)

MODELS = (
    Refusal(
        "Input",
        "of free size",
        "an input of any size, (None, None, 3); give --input-size picture=HEIGHTxWIDTH, or keras.Input a ",
        stem,
        (None, None, 3),
        subject="picture",
        calibrated=False,
    ),
    Refusal(
        "Input",
        "that no output depends on",
        "an input that no output depends on; build the model without it",
        _unread,
        subject="other",
    ),
    Refusal(
        "Model",
        "subclassed",
        "model 'free' is not functional; build it with keras.Input and keras.Model",
        lambda x: type("Free", (KERAS.Model,), {"call": lambda self, inputs: inputs})(name="free"),
        subject="",
    ),
)

PLACES = (*RANGES, *PLACES_OF_LAYERS, *SIZES, *MODELS)
