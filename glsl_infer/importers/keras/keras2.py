"""Rewriting of the configuration of a Keras 2 or TensorFlow.js model for Keras 3.

Keras 3 has most classes of Keras 2, but with other options, other module names and another format of nodes. Weights are
read from the file later (``old_weights``), so initializers, regularizers and constraints are dropped.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from glsl_infer.errors import ModelError
from glsl_infer.importers.keras.caution import RUN_OTHERS
from glsl_infer.importers.keras.installed import keras

Config = dict[str, Any]

_MODELS = {"Functional": "Functional", "Model": "Functional", "Sequential": "Sequential"}
_MODULES = {
    "Functional": "keras.src.models.functional",
    "LayerScale": "keras.src.applications.convnext",
    "Sequential": "keras",
}
"""Modules of classes outside ``keras.layers``."""

_OF_LAYER_SCALE = {"init_values", "projection_dim"}
"""Options of the layer of Keras' ConvNeXt, which is registered like a layer of the user."""

_RENAMED = {"SyncBatchNormalization": "BatchNormalization"}
_VERSIONED = re.compile(r"V[12]$")
"""Suffix of classes that TensorFlow registered for each of its own versions, such as ``BatchNormalizationV1``."""

_NOTHING_AT_INFERENCE = frozenset({"RandomHeight", "RandomWidth"})
"""Classes missing in Keras 3 with an effect only in training."""

_TENSORFLOW_CALLS = frozenset({"TFOpLambda", "SlicingOpLambda"})

_OF_TRAINING = ("_initializer", "_regularizer", "_constraint")
_NO_EFFECT = frozenset(
    {
        *("autocast", "batch_input_shape", "dynamic", "experimental_autocast", "fused", "implementation"),
        *("input_dim", "input_dtype", "input_length", "input_shape", "ragged", "renorm_clipping", "renorm_momentum"),
        *("sparse", "optional", "virtual_batch_size", "zero_output_for_mask", "num_batch_dims", "is_graph_network"),
        *("trainable", "force_generator", "rng_type", "query_shape", "key_shape", "value_shape"),
    }
)
"""Options missing in Keras 3 that do not change the result for any value."""

_HARD_SIGMOID = {
    "module": None,
    "class_name": "ClippedLinear",
    "config": {"scale": 0.2, "offset": 0.5},
    "registered_name": "glsl_infer>ClippedLinear",
}

_NEW_NAMES = {("InputLayer", "batch_input_shape"): "batch_shape", ("LeakyReLU", "alpha"): "negative_slope"}
"""Renamed options, by class and old name."""

_CONSTANT = "_CONSTANT_VALUE"
_REFERENCE = 3
"""Length of [layer, index of its call, index of its output], the reference to a tensor."""


class _RefusedError(Exception):
    """An option of a layer without a counterpart in Keras 3."""


def rewritten(serialized: Config, source: object) -> Config:
    """Return the configuration of a model in the format of Keras 3.

    Args:
        serialized: the object in the file: class_name, config and, from Keras 2.12 on, module and registered_name.
        source: name of the file, for messages.

    Raises:
        ModelError: the configuration is damaged, or a layer has an option without a counterpart.
    """
    try:
        return _layer(serialized)
    except _RefusedError as refusal:
        raise ModelError(f"{source}: {refusal}") from None
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ModelError(f"{source}: the configuration of its model is damaged ({reason})") from None


def _layer(serialized: Config) -> Config:
    kind, settings = serialized["class_name"], serialized["config"]
    if isinstance(settings, list):  # a Sequential before Keras 2.2
        settings = {"name": serialized.get("name", "sequential"), "layers": settings}
    name = plain_name(settings.get("name") or serialized.get("name") or kind.lower())
    if kind in _TENSORFLOW_CALLS:
        return _tensorflow_call(name, settings)
    if _MODELS.get(kind) == "Functional" or {"input_layers", "output_layers"} <= settings.keys():
        model = _functional(name, settings)
        return {**_object(_MODELS[kind], model), "build_config": {}} if kind in _MODELS else _own(serialized, model)
    if kind == "Sequential":
        return {**_object("Sequential", _sequential(name, settings, serialized)), "build_config": {}}
    if kind in _NOTHING_AT_INFERENCE:
        return {**_object("Identity", {"name": name}), "build_config": {}}
    if kind == "ThresholdedReLU":
        return _called(name, "thresholded_relu", {"theta": settings.get("theta", 1.0)})
    if kind == "RandomCrop":  # at inference it crops the middle
        kind, settings = "Resizing", {**settings, "crop_to_aspect_ratio": True, "seed": None}
    if kind.rpartition(">")[2] == "LayerScale" and settings.keys() >= _OF_LAYER_SCALE:
        kind, settings = "LayerScale", {option: settings[option] for option in _OF_LAYER_SCALE}
        return {**_object(kind, {"name": name, **settings}), "build_config": {}}
    keras3_kind = _keras3_class(kind)
    if keras3_kind is None or kind in RUN_OTHERS:
        return _own(serialized, settings)
    return {**_object(keras3_kind, _settings(keras3_kind, name, settings)), "build_config": {}}


def _object(kind: str, settings: Config) -> Config:
    return {
        "module": _MODULES.get(kind, "keras.layers"),
        "class_name": kind,
        "config": settings,
        "registered_name": None,
    }


def _own(serialized: Config, settings: Config) -> Config:
    """Return a layer whose class is not part of Keras."""
    kind = str(serialized["class_name"])
    registered = serialized.get("registered_name") or kind
    return {
        "module": None,
        "class_name": kind.rpartition(">")[2],
        "config": settings,
        "registered_name": registered,
        "build_config": {},
    }


def _keras3_class(kind: str) -> str | None:
    """Return the name of a class in Keras 3, or None."""
    layers = keras().layers
    for name in (_RENAMED.get(kind, kind), _VERSIONED.sub("", kind)):
        if inspect.isclass(getattr(layers, name, None)):
            return name
    return None


def _tensorflow_call(name: str, settings: Config) -> Config:
    from glsl_infer.importers.keras import tensorflow_calls  # imports Keras

    function = str(settings.get("function") or "__operators__.getitem")
    if tensorflow_calls.is_known(function):
        return _called(name, function, {})
    return _own({"class_name": f"tf.{function}"}, {"name": name, "function": function})


def _called(name: str, function: str, options: Config) -> Config:
    """Return the layer of a call of a function of TensorFlow."""
    from glsl_infer.importers.keras import tensorflow_calls  # imports Keras

    config = {"name": name, "function": function, "options": options}
    return _own({"class_name": tensorflow_calls.CLASS, "registered_name": tensorflow_calls.NAME}, config)


def _sequential(name: str, settings: Config, serialized: Config) -> Config:
    old_layers = settings["layers"]
    layers = [_layer(layer) for layer in old_layers]
    first = old_layers[0] if old_layers else {}
    shape = _first_shape(first) or settings.get("build_input_shape")
    shape = shape or settings.get("batch_input_shape") or (serialized.get("build_config") or {}).get("input_shape")
    if old_layers and first["class_name"] != "InputLayer" and isinstance(shape, list):
        layers.insert(0, _object("InputLayer", {"batch_shape": shape, "dtype": "float32", "name": f"{name}_input"}))
    return {"name": name, "layers": layers}


def plain_name(name: object) -> str:
    """Return the name of a layer in Keras 3, where slashes are not allowed."""
    return str(name).replace("/", "_")


def _first_shape(serialized: Config) -> list[int | None] | None:
    """Return the input shape in the options of the first layer of a Sequential, or None."""
    settings = serialized.get("config")
    if not isinstance(settings, dict) or serialized["class_name"] in _MODELS:
        return None
    shape = settings.get("batch_input_shape")
    if shape is None and isinstance(settings.get("layer"), dict):  # a wrapper
        return _first_shape(settings["layer"])
    return list(shape) if shape is not None else None


def _functional(name: str, settings: Config) -> Config:
    nodes = {layer["name"]: layer.get("inbound_nodes", []) for layer in settings["layers"]}  # names in the file
    first = _first_calls(settings, nodes)

    def output(reference: list[Any]) -> list[Any]:
        layer, call, tensor = reference[:_REFERENCE]
        # Keras 3 counts the calls of functional models from 1 here, and from 0 inside nodes.
        return [plain_name(layer), call - first[layer] + (1 if layer in functional else 0), tensor]

    def converted(value: Any) -> Any:
        """Return the references in the inputs or outputs of the model as Keras 3 counts them."""
        if _is_reference(value, nodes):
            return output(value)
        if isinstance(value, dict):
            return {key: converted(part) for key, part in value.items()}
        parts = [converted(part) for part in value]
        return parts[0] if len(parts) == 1 else parts  # with a list of one, each call would return a list

    layers: list[Config] = []
    functional: set[str] = set()
    for layer in settings["layers"]:
        new_layer = _layer(layer)
        if {"input_layers", "output_layers"} <= new_layer["config"].keys():
            functional.add(layer["name"])
        recurrent = new_layer["class_name"] in _RECURRENT
        calls = [_call(node, nodes, first, recurrent=recurrent) for node in layer.get("inbound_nodes", [])]
        layers.append({**new_layer, "name": plain_name(layer["name"]), "inbound_nodes": calls})
    rewritten_model = {"name": name, "layers": layers}
    if "trainable" in settings:
        rewritten_model["trainable"] = settings["trainable"]
    for key in ("input_layers", "output_layers"):
        rewritten_model[key] = converted(settings[key])
    return rewritten_model


_RECURRENT = frozenset({"RNN", "SimpleRNN", "LSTM", "GRU", "Bidirectional", "ConvLSTM2D"})
"""Layers whose initial state Keras 2 lists among their inputs."""


def _first_calls(settings: Config, nodes: Mapping[str, Any]) -> dict[str, int]:
    """Return the index of the first call of each layer. For models, Keras 2 counts calls from 1."""
    calls_of_layer: dict[str, list[int]] = {name: [] for name in nodes}
    for value in (settings["input_layers"], settings["output_layers"], list(nodes.values())):
        for layer, call in _references(value, nodes):
            calls_of_layer[layer].append(call)
    return {name: min(calls, default=0) for name, calls in calls_of_layer.items()}


def _references(value: Any, layers: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for part in value.values():
            yield from _references(part, layers)
    elif isinstance(value, list):
        if _is_reference(value, layers):
            yield value[0], value[1]
            value = value[_REFERENCE:]
        for part in value:
            yield from _references(part, layers)


def _is_reference(value: Any, layers: Mapping[str, Any]) -> bool:
    return (
        isinstance(value, list)
        and _REFERENCE <= len(value) <= _REFERENCE + 1
        and isinstance(value[0], str)
        and value[0] in layers
        and all(isinstance(number, int) for number in value[1:_REFERENCE])
    )


def _call(node: Any, layers: Mapping[str, Any], first: Mapping[str, int], *, recurrent: bool) -> Config:
    """Return a call of a layer in the format of Keras 3: {"args": [...], "kwargs": {...}}."""
    if isinstance(node, dict) and {"args", "kwargs"} <= node.keys():
        return node
    options: Config = {}

    def tensors(value: Any) -> Any:
        if _is_reference(value, layers):
            if len(value) > _REFERENCE and value[_REFERENCE]:
                options.update(value[_REFERENCE])
            return _tensor(plain_name(value[0]), value[1] - first[value[0]], value[2])
        if isinstance(value, list) and value[:1] == [_CONSTANT]:
            options.update((value[3:] or [{}])[0] or {})
            return value[2]
        if isinstance(value, dict):
            return {key: tensors(part) for key, part in value.items()}
        return [tensors(part) for part in value] if isinstance(value, list) else value

    inputs = tensors(node)
    arguments = {key: tensors(value) for key, value in list(options.items()) if value is not None}
    if isinstance(inputs, list) and len(inputs) == 1:
        inputs = inputs[0]
    if recurrent and isinstance(inputs, list):
        inputs, arguments["initial_state"] = inputs[0], inputs[1:]
    return {"args": [inputs], "kwargs": arguments}


def _tensor(layer: str, call: int, number: int) -> Config:
    """Return the entry of a tensor in a node. Keras reads only its history; the shape is a placeholder."""
    return {
        "class_name": "__keras_tensor__",
        "config": {"shape": [None], "dtype": "float32", "keras_history": [layer, call, number]},
    }


def _settings(kind: str, name: str, settings: Config) -> Config:
    """Return the options of a layer with their names in Keras 3.

    Raises:
        _RefusedError: an option does not have a counterpart.
    """
    accepted = _options_of(getattr(keras().layers, kind))
    result: Config = {"name": name}
    for stored, value in settings.items():
        option = _NEW_NAMES.get((kind, stored), stored)
        if option == "name" or option.endswith(_OF_TRAINING):
            continue
        if option not in accepted:
            if option in _NO_EFFECT or value in (None, False, [], {}) or (option, value) == ("groups", 1):
                continue
            raise _RefusedError(
                f"layer '{name}' ({kind}) has the option {option}={value!r:.40} of Keras 2, which Keras 3 does not have"
            )
        result[option] = _option(kind, option, value)
    if kind == "GRU" and "reset_after" not in settings:  # before TensorFlow 2
        result["reset_after"] = False
    return result


def _options_of(kind: type) -> set[str]:
    names: set[str] = set()
    for base in inspect.getmro(kind):
        if "__init__" not in vars(base) or base is object:
            continue
        parameters = inspect.signature(base.__init__).parameters  # type: ignore[misc]
        names |= {name for name, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD}
        if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values()):
            break  # it does not pass other options to its base classes
    return names - {"self"}


def _option(kind: str, option: str, value: Any) -> Any:
    if option == "dtype":
        return _dtype(value)
    if option.endswith("activation"):
        return _activation(value)
    if kind == "BatchNormalization" and option == "axis" and isinstance(value, list) and len(value) == 1:
        return value[0]
    if isinstance(value, dict):
        return _object_of(value)
    if isinstance(value, list) and any(isinstance(part, dict) for part in value):
        return [_object_of(part) if isinstance(part, dict) else part for part in value]
    return value


def _object_of(value: Config) -> Any:
    """Return an object from the options of a layer: an activation, or the layer inside a wrapper."""
    if value.get("class_name") == "function":
        module = str(value.get("module") or "builtins")
        return value["config"] if _is_of_keras(module) else value
    if value.get("class_name") in ("__numpy__", "__tensor__"):
        return value["config"]["value"]
    if isinstance(value.get("class_name"), str) and isinstance(value.get("config"), (dict, list)):
        return _layer(value)
    return value


def _activation(value: Any) -> Any:
    """Return an activation. In Keras 2 the hard sigmoid has another slope: clip(0.2 x + 0.5, 0, 1)."""
    activation = _object_of(value) if isinstance(value, dict) else value
    return dict(_HARD_SIGMOID) if activation in ("hard_sigmoid", "hardSigmoid") else activation


def _is_of_keras(module: str) -> bool:
    return module.partition(".")[0] in ("builtins", "keras", "tf_keras", "tensorflow")


def _dtype(value: Any) -> Any:
    """Return the name of a type or a dtype policy; float32 for a type inferred from the input."""
    if isinstance(value, dict):
        value = (value.get("config") or {}).get("name")
    return "float32" if value in (None, "_infer", "infer") else str(value)
