"""The user's layers: traced into operations of Keras, or computed by a function of the user on the CPU."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from glsl_infer.cpu import custom
from glsl_infer.cpu.custom import CUSTOM
from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call, array
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.keras.instead import OF_YOUR_OWN

_REASON = "_glsl_infer_not_traced"
_PACKAGES = ("keras", "glsl_infer")


def traced(layer: Any, call: Any) -> Any | None:
    """Return a functional model that computes a call of a user's layer.

    Args:
        layer: the layer.
        call: node of the model for the call, with its arguments.

    Returns:
        The model, with an input for each tensor of the call; or None if the layer is one of Keras', the user gave a
        function instead, or its ``call`` does not accept symbolic tensors.
    """
    installed = keras()
    kind = type(layer)
    is_own = isinstance(layer, installed.layers.Layer) and kind.__module__.partition(".")[0] not in _PACKAGES
    if not is_own or hasattr(layer, "stands_for") or custom.function_of(kind.__name__):
        return None
    inputs: list[Any] = []

    def symbolic(value: Any) -> Any:
        if not isinstance(value, installed.KerasTensor):
            return value
        inputs.append(installed.Input(batch_shape=value.shape, dtype=value.dtype))
        return inputs[-1]

    args, kwargs = installed.tree.map_structure(symbolic, (call.arguments.args, call.arguments.kwargs))
    try:
        accepted = inspect.signature(layer.call).parameters
        kwargs = {name: value for name, value in kwargs.items() if name in accepted and name != "training"}
        if "training" in accepted:
            kwargs["training"] = False
        with _symbolic_variables(installed):
            outputs = layer.call(*args, **kwargs)
        return installed.Model(inputs, installed.tree.flatten(outputs), name=layer.name)
    except Exception as error:  # from the user's code, or functions called by it
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        object.__setattr__(layer, _REASON, f"{type(error).__name__}: {lines[0] if lines else ''}")
        return None


def advice(layer: Any) -> str:
    """Return the advice for a refused user's layer."""
    reason = getattr(layer, _REASON, "")
    return f"{OF_YOUR_OWN} (its call cannot be traced: {reason:.200})" if reason else OF_YOUR_OWN


@contextmanager
def _symbolic_variables(installed: Any) -> Iterator[None]:
    """Make variables on the left of an operator, ``self.scale * x``, accept symbolic tensors inside the context."""
    names = {
        "__add__": "add",
        "__sub__": "subtract",
        "__mul__": "multiply",
        "__truediv__": "true_divide",
        "__matmul__": "matmul",
        "__pow__": "power",
    }
    owners = {name: next(base for base in inspect.getmro(installed.Variable) if name in vars(base)) for name in names}
    originals = {name: vars(owner)[name] for name, owner in owners.items()}

    def accepting(operation: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, other: Any) -> Any:
            return (operation if isinstance(other, installed.KerasTensor) else original)(self, other)

        return method

    try:
        for name, owner in owners.items():
            setattr(owner, name, accepting(getattr(installed.ops, names[name]), originals[name]))
        yield
    finally:
        for name, owner in owners.items():
            setattr(owner, name, originals[name])


_OF_EVERY_LAYER = {"name", "trainable", "dtype"}


def by_function(call: Call, function: str) -> list[Node]:
    """Convert a call of a layer with a function from ``--operator``.

    Args:
        call: the call. The layer's settings and weights become keyword arguments of the function.
        function: name of the function, ``module:function``.

    Raises:
        ModelError: Keras cannot compute the shape of the output.
    """
    if None in call.shape:
        raise call.refused(f"an output of shape {call.shape}", "give the layer a compute_output_shape without None")
    weights = {str(variable.name): array(variable) for variable in getattr(call.layer, "weights", ())}
    attrs = {"calls": function, "shape": call.shape, "settings": json.dumps(_settings(call.layer))}
    return [Node(call.name, CUSTOM, call.inputs, attrs, weights)]


def _settings(layer: Any) -> dict[str, Any]:
    """Return the settings of a layer that JSON can represent."""
    settings = {}
    for key, value in layer.get_config().items():
        if key in _OF_EVERY_LAYER:
            continue
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            continue
        settings[key] = value
    return settings
