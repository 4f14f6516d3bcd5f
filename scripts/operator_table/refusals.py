"""What is refused as a layer or for its options, wherever it stands."""

from __future__ import annotations

from typing import Any

from operator_table.row import KERAS, K, L, Refusal, stem


def _custom(x: Any) -> Any:
    kind = type("Dense", (L.Dense,), {"__module__": "somewhere"})
    return kind(4, name="subject")(stem(x))


def _subclassed(x: Any) -> Any:
    kind = type("Subclassed", (KERAS.Model,), {"call": lambda self, inputs: inputs})
    return kind(name="subject")(x)


def _quantised(x: Any) -> Any:
    model = KERAS.Model(x, L.Dense(4, name="subject")(L.GlobalAveragePooling2D()(stem(x))))
    model.get_layer("subject").quantize("int4")
    return model


UNKNOWN = (
    Refusal(
        "Lambda",
        "any",
        "a Lambda cannot be exported; write what it computes with keras.ops",
        lambda x: L.Lambda(lambda y: y, name="subject")(stem(x)),
    ),
    Refusal(
        "Dense",
        "a class of your own",
        "a Dense cannot be exported; build it from Keras' own layers and keras.ops",
        _custom,
    ),
    Refusal(
        "Model",
        "subclassed, inside the model",
        "the model Subclassed inside the model cannot be exported; build it with keras.Input",
        _subclassed,
    ),
)


OPTIONS = (
    Refusal(
        "all layers on maps",
        "data_format='channels_first'",
        "data_format='channels_first'; only 'channels_last' can be exported",
        lambda x: L.MaxPooling2D(2, data_format="channels_first", name="subject")(stem(x)),
    ),
    Refusal(
        "all layers",
        "activation other than those above",
        "activation 'sparsemax' cannot be exported; use one of: celu, elu, exponential, gelu, ",
        lambda x: L.Conv2D(4, 3, activation="sparsemax", name="subject")(stem(x)),
    ),
    Refusal(
        "ReLU",
        "max_value not above the threshold",
        "a relu with a maximum of 1; it must be above 0 and above the threshold; give a max_value above the threshold",
        lambda x: L.ReLU(1.0, threshold=2.0, name="subject")(stem(x)),
    ),
    Refusal(
        "PReLU",
        "as the activation of another layer",
        "a PReLU as the activation of another layer, whose slopes no file keeps",
        lambda x: L.Conv2D(4, 3, activation=L.PReLU(alpha_initializer="random_uniform"), name="subject")(stem(x)),
    ),
    Refusal(
        "ReLU",
        "max_value=0",
        "a ReLU with max_value=0.0; give a positive max_value",
        lambda x: L.ReLU(0.0, name="subject")(stem(x)),
    ),
    Refusal(
        "GroupNormalization",
        "axis other than the last",
        "axis=1; only the last axis, the channels, can be exported",
        lambda x: L.GroupNormalization(2, axis=1, name="subject")(stem(x)),
    ),
    Refusal(
        "Dense",
        "weights quantised to other numbers than int8",
        "weights quantised to 'int4'; export the model from before it was quantised",
        _quantised,
    ),
)


def _operation(text: str, name: str, says: str, build: Any) -> Refusal:
    return Refusal(f"`{text}`", "of tensors", says, build, subject=name)


OPERATIONS = (
    _operation(
        "keras.ops.reshape(x, ...)",
        "reshape",
        "a reshape to (8, 8, 8, 8); use layers.Reshape, which leaves out the batch",
        lambda x: K.reshape(stem(x), (8, 8, 8, 8)),
    ),
)

LAYERS = (*UNKNOWN, *OPTIONS, *OPERATIONS)
