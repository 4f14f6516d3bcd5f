"""Layers and options refused anywhere in a model."""

from __future__ import annotations

from typing import Any

from operator_table.row import KERAS, K, L, Refusal, stem


def _untraceable(layer_class: Any) -> Any:
    """Return a layer of another module, whose call needs a tensor of another framework."""
    members = {
        "__module__": "somewhere",
        "compute_output_spec": lambda self, inputs: KERAS.KerasTensor(inputs.shape),
        "call": lambda self, inputs: inputs.numpy(),
    }
    return type("Own", (layer_class,), members)(name="subject")


def _quantised(x: Any) -> Any:
    model = KERAS.Model(x, L.Dense(4, name="subject")(L.GlobalAveragePooling2D()(stem(x))))
    model.get_layer("subject").quantize("int4")
    return model


UNKNOWN = (
    Refusal(
        "Lambda",
        "any",
        "a Lambda cannot be exported; write its computation with keras.ops",
        lambda x: L.Lambda(lambda y: y, name="subject")(stem(x)),
    ),
    Refusal(
        "Layer",
        "a class of your own whose call cannot be traced",
        "an Own cannot be exported; give the module that registers it, --import MODULE",
        lambda x: _untraceable(L.Layer)(stem(x)),
    ),
    Refusal(
        "Model",
        "subclassed, inside the model",
        "the model Own inside the model cannot be exported; build it with keras.Input",
        lambda x: _untraceable(KERAS.Model)(x),
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
