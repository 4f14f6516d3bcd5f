"""What is refused for where it stands, for its size, or as a model."""

from __future__ import annotations

from typing import Any

from operator_table.row import KERAS, L, Refusal, stem, vector

_NO_RANGE = "; give typical pictures with --calibrate DIR, or follow the layer with ReLU(max_value=...) or a sigmoid"


def _unread(x: Any) -> Any:
    return KERAS.Model([x, KERAS.Input((4,), name="other")], stem(x))


def _pool_of_inverted(x: Any) -> Any:
    return L.MaxPooling2D(2, name="subject")(x)


RANGES = (
    Refusal(
        "Conv2D, Add, BatchNormalization ...",
        "without activation, no `--calibrate`",
        f"the values of 'linear' have no fixed range{_NO_RANGE}",
        "`--calibrate DIR` with typical pictures",
        lambda x: L.Conv2D(8, 3, name="subject")(stem(x)),
        calibrated=False,
    ),
    Refusal(
        "Conv2D, ReLU ...",
        "relu, no `--calibrate`",
        f"the values of 'relu' have no fixed range{_NO_RANGE}",
        "`--calibrate DIR`, or ReLU(6)",
        lambda x: L.Conv2D(8, 3, activation="relu", name="subject")(stem(x)),
        calibrated=False,
    ),
    Refusal(
        "MaxPooling2D",
        "of the picture, whose larger bytes are smaller values",
        "a maximum of a picture whose larger bytes are smaller values; let a convolution come first, or rescale by a "
        "positive factor",
        "a convolution first",
        _pool_of_inverted,
        input_range=(1.0, 0.0),
    ),
    Refusal(
        "ZeroPadding2D",
        "alone around a picture of which byte 0 is not 0",
        "zeros around the picture, whose gutter holds bytes of 0; let the convolution behind it pad, or a 1x1 "
        "convolution of the picture come first",
        "a convolution that alone reads it",
        lambda x: L.MaxPooling2D(2)(L.ZeroPadding2D(1, name="subject")(x)),
        input_range=(-1.0, 1.0),
    ),
)

PLACES_OF_LAYERS = (
    Refusal(
        "Softmax",
        "not at the end",
        "a softmax in this place has no shader; softmax is supported at the end of a network only",
        "the end of the model",
        lambda x: L.Dense(3)(L.Softmax(name="subject")(L.Dense(4)(vector(x)))),
    ),
    Refusal(
        "Reshape",
        "anything but vectors and 1x1 maps",
        "a reshape in this place has no shader; it can be exported from a vector to (1, 1, length) and back, or from a",
        "Flatten in front of Dense, DepthToSpace for larger maps",
        lambda x: L.Reshape((4, 4, 32), name="subject")(stem(x)),
    ),
    Refusal(
        "GlobalAveragePooling2D",
        "keepdims=True, with a map of 1x1 pixels at the end of the model",
        "a reshape in this place has no shader; it can be exported from a vector to (1, 1, length) and back, or from a",
        "Flatten, Reshape or another GlobalAveragePooling2D behind it",
        lambda x: L.GlobalAveragePooling2D(keepdims=True, name="subject")(stem(x)),
        subject="subject-map",
    ),
    Refusal(
        "Rescaling, BatchNormalization",
        "on a vector, with no Dense before or behind",
        "a rescaling in this place has no shader; rescaling is supported on the picture, after a dense layer, or on a "
        "feature map",
        "in front of the pooling",
        lambda x: L.Rescaling(2.0, name="subject")(vector(x)),
    ),
)

SIZES = (
    Refusal(
        "Flatten",
        "an odd number of channels",
        "flattening a map of 8x8 pixels and 5 channels; make the number of channels even, or the map 1x1 pixels",
        "an even number",
        lambda x: L.Dense(2)(L.Flatten(name="subject")(stem(x, 5))),
    ),
    Refusal(
        "Flatten",
        "more than 4,096 values",
        "flattening a map of 20x20 pixels and 12 channels; at most 4096 values are supported; pool more, or use "
        "GlobalAveragePooling2D",
        "GlobalAveragePooling2D",
        lambda x: L.Dense(2)(L.Flatten(name="subject")(stem(x, 12))),
        shape=(20, 20, 3),
    ),
    Refusal(
        "Dense",
        "more than 2,048 outputs",
        "a dense layer of 8 inputs and 2050 outputs; at most 4096 inputs and 2048 outputs are supported",
        "fewer classes",
        lambda x: L.Dense(2050, name="subject")(vector(x)),
        subject="subject-products",
    ),
    Refusal(
        "all layers on maps",
        "an output that fits no texture of 2048x2048",
        "its output of 2050x2050 pixels and 4 channels fits no texture of 2048x2048",
        "a smaller picture",
        lambda x: L.UpSampling2D(410, name="subject")(stem(x, 4)),
        shape=(5, 5, 3),
    ),
)

MODELS = (
    Refusal(
        "Input",
        "of free size",
        "an input of shape (None, None, 3); give keras.Input a fixed (height, width, channels)",
        "a fixed size",
        stem,
        (None, None, 3),
        subject="picture",
        calibrated=False,
    ),
    Refusal(
        "Input",
        "that no output depends on",
        "an input that no output depends on; build the model without it",
        "a model without it",
        _unread,
        subject="other",
    ),
    Refusal(
        "Model",
        "subclassed",
        "model 'free' is not functional; build it with keras.Input and keras.Model",
        "functional and Sequential models",
        lambda x: type("Free", (KERAS.Model,), {"call": lambda self, inputs: inputs})(name="free"),
        subject="",
    ),
    Refusal(
        "Model",
        "nothing to compute",
        "the picture itself is the output, or part of it; end the network in a layer that computes",
        "a layer",
        lambda x: L.Dropout(0.5)(x),
        subject="picture",
    ),
)

PLACES = (*RANGES, *PLACES_OF_LAYERS, *SIZES, *MODELS)
