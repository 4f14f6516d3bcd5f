"""What is refused as a layer or for its options, wherever it stands."""

from __future__ import annotations

from typing import Any

from glsl_infer.errors import with_article
from operator_table.row import KERAS, K, L, Refusal, stem

_LAYERS = "cannot be exported; these layers can be exported: "
_OPERATIONS = "cannot be exported; these operations can be exported: "


def _unknown(kind: str, instead: str, build: Any, options: str = "any") -> Refusal:
    return Refusal(kind, options, f"{with_article(kind)} {_LAYERS}", instead, build)


def _custom(x: Any) -> Any:
    kind = type("Dense", (L.Dense,), {"__module__": "somewhere"})
    return kind(4, name="subject")(stem(x))


def _subclassed(x: Any) -> Any:
    kind = type("Subclassed", (KERAS.Model,), {"call": lambda self, inputs: inputs})
    return kind(name="subject")(x)


def _quantised(x: Any) -> Any:
    model = KERAS.Model(x, L.Dense(4, name="subject")(L.GlobalAveragePooling2D()(stem(x))))
    model.get_layer("subject").quantize("int8")
    return model


UNKNOWN = (
    Refusal(
        "Lambda",
        "any",
        "a Lambda cannot be exported; write what it computes with keras.ops",
        "layers and operations of the tables above",
        lambda x: L.Lambda(lambda y: y, name="subject")(stem(x)),
    ),
    Refusal(
        "Dense", "a class of your own", f"a Dense {_LAYERS}", "Keras' own layers: names alone are not trusted", _custom
    ),
    Refusal(
        "Model",
        "subclassed, inside the model",
        "the model Subclassed inside the model cannot be exported; build it with keras.Input",
        "functional and Sequential models",
        _subclassed,
    ),
)


OPTIONS = (
    Refusal(
        "all layers on maps",
        "data_format='channels_first'",
        "data_format='channels_first'; only 'channels_last' can be exported",
        "channels_last, Keras' default",
        lambda x: L.MaxPooling2D(2, data_format="channels_first", name="subject")(stem(x)),
    ),
    Refusal(
        "all layers",
        "activation other than those above",
        "activation 'log_softmax' cannot be exported; use one of: celu, elu, exponential, gelu, ",
        "one of the activations above",
        lambda x: L.Conv2D(4, 3, activation="log_softmax", name="subject")(stem(x)),
    ),
    Refusal(
        "ReLU",
        "max_value not above the threshold",
        "a relu with a maximum of 1; it must be above 0 and above the threshold; give a max_value above the threshold",
        "a larger max_value",
        lambda x: L.ReLU(1.0, threshold=2.0, name="subject")(stem(x)),
    ),
    Refusal(
        "PReLU",
        "slopes for each pixel",
        "a PReLU with slopes of its own for each pixel, ",
        "shared_axes=[1, 2]",
        lambda x: L.PReLU(alpha_initializer="random_uniform", name="subject")(stem(x)),
    ),
    Refusal(
        "ReLU",
        "max_value=0",
        "a ReLU with max_value=0.0; give a positive max_value",
        "a positive number",
        lambda x: L.ReLU(0.0, name="subject")(stem(x)),
    ),
    Refusal(
        "BatchNormalization, Concatenate, Softmax",
        "axis other than the last",
        "axis=1; only the last axis, the channels, can be exported",
        "axis=-1, the default",
        lambda x: L.BatchNormalization(axis=1, name="subject")(stem(x)),
    ),
    Refusal(
        "UpSampling2D",
        "interpolation other than nearest and bilinear",
        "interpolation='bicubic'; use 'nearest' or 'bilinear'",
        "bilinear",
        lambda x: L.UpSampling2D(2, interpolation="bicubic", name="subject")(stem(x)),
    ),
    Refusal(
        "Conv2D, Dense",
        "quantised weights",
        "weights quantised to 'int8'; export the model from before it was quantised",
        "the model before quantisation",
        _quantised,
    ),
    Refusal(
        "Add",
        "of more than 8 tensors",
        "9 inputs; at most 8 can be added at once; add in steps",
        "several Adds",
        lambda x: L.Add(name="subject")([stem(x, name=f"stem-{index}") for index in range(9)]),
    ),
)


def _operation(text: str, name: str, says: str, instead: str, build: Any) -> Refusal:
    return Refusal(f"`{text}`", "of tensors", says, instead, build, subject=name)


OPERATIONS = (
    _operation(
        "2 ** x",
        "power",
        "a power whose exponent is no number; give it as a number, or use keras.ops.exp of a product",
        "`keras.ops.exp(0.6931472 * x)`",
        lambda x: 2.0 ** stem(x),
    ),
    _operation("x ** 9", "power", "a power of 9; give one from -2 to 8, not 0", "products", lambda x: stem(x) ** 9),
    _operation(
        "x[:, 0]",
        "get_item",
        "an index (slice(None, None, None), 0); give slices",
        "slices, such as `x[:, :1]`",
        lambda x: L.Dense(2)(L.Flatten()(stem(x)[:, 0])),
    ),
    _operation(
        "keras.ops.reshape(x, ...)",
        "reshape",
        "a reshape to (8, 8, 8, 8); use layers.Reshape, which leaves out the batch",
        "layers.Reshape",
        lambda x: K.reshape(stem(x), (8, 8, 8, 8)),
    ),
)

LAYERS = (*UNKNOWN, *OPTIONS, *OPERATIONS)
