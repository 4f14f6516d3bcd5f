"""From the calls of a Keras model to nodes, in topological order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.converters import LAYERS
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.keras.operations import OPERATIONS
from glsl_infer.importers.shared.collected import Collected

Key = tuple[int, int, int]
"""Identity of a Keras tensor: that of the operation that made it, number of its call, number of its output."""


class Walk:
    """Walks through one model from its output to its inputs, importing what it meets."""

    def __init__(self, collected: Collected, prefix: str, known: Mapping[Key, str]) -> None:
        self._collected = collected
        self._prefix = prefix
        self._names = dict(known)
        self.tensors: dict[str, Any] = {}

    def tensor(self, tensor: Any) -> str:
        """Return the name of the node that computes a Keras tensor, importing what it needs first."""
        stack = [tensor]
        while stack:
            if key(stack[-1]) in self._names:
                stack.pop()
                continue
            waiting = [one for one in _inputs(stack[-1]) if key(one) not in self._names]
            if waiting:
                stack += reversed(waiting)
            else:
                self._import(stack.pop())
        return self._names[key(tensor)]

    def _import(self, tensor: Any) -> None:
        operation, call_index, _ = tensor._keras_history
        inputs = tuple(self._names[key(one)] for one in _inputs(tensor))
        name = self._collected.free_name(f"{self._prefix}{operation.name}")
        if _is_model(operation):
            outputs = self._inner(operation, name, inputs)
        else:
            arguments = operation._inbound_nodes[call_index].arguments
            shapes = tuple(self._collected.shapes[one] for one in inputs)
            given = (*arguments.args, *arguments.kwargs.values())
            try:
                outputs = [self._collected.add(_convert(Call(operation, name, inputs, shapes, given)))]
            except ModelError as refusal:
                outputs = [self._collected.refuse(refusal, name, inputs, tuple(tensor.shape[1:]))]
        for index, output in enumerate(outputs):
            self._names[id(operation), call_index, index] = output
            self.tensors[output] = operation._inbound_nodes[call_index].output_tensors[index]

    def _inner(self, model: Any, name: str, inputs: tuple[str, ...]) -> list[str]:
        """Import a model that is called like a layer; return the names of its outputs."""
        if len(inputs) != len(model.inputs):
            raise ModelError.layer(
                name, f"a model of {len(model.inputs)} inputs called on {len(inputs)}", "call it on all of them"
            )
        known = {key(tensor): given for tensor, given in zip(model.inputs, inputs)}
        walk = Walk(self._collected, f"{name}/", known)
        return [walk.tensor(output) for output in model.outputs]


def key(tensor: Any) -> Key:
    """Return what tells a Keras tensor from every other of its model."""
    operation, call_index, tensor_index = tensor._keras_history
    return id(operation), call_index, tensor_index


def _inputs(tensor: Any) -> list[Any]:
    operation, call_index, _ = tensor._keras_history
    return list(operation._inbound_nodes[call_index].arguments.keras_tensors)


def _is_model(operation: Any) -> bool:
    """Return whether it is a model that can be walked through: functional, or sequential and built."""
    return bool(hasattr(operation, "layers") and getattr(operation, "inputs", None) and operation.outputs)


def _convert(call: Call) -> list[Node]:
    kind, package = type(call.layer).__name__, type(call.layer).__module__.partition(".")[0]
    is_layer = isinstance(call.layer, keras().layers.Layer)
    # By name, which must be Keras' or ours: a class of somebody else may be called Add and do something else.
    convert = (LAYERS if is_layer else OPERATIONS).get(kind) if package in ("keras", "glsl_infer") else None
    if convert is not None:
        return convert(call)
    if hasattr(call.layer, "layers"):
        raise call.refused(f"the model {kind} inside the model cannot be exported", "build it with keras.Input")
    advice = f"these layers can be exported: {', '.join(LAYERS)}"
    if not is_layer:
        advice = f"these operations can be exported: {', '.join(OPERATIONS)}"
    raise call.refused(f"{with_article(kind)} cannot be exported", advice)
