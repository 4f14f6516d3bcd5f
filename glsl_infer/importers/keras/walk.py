"""From the calls of a Keras model to nodes, in topological order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from glsl_infer import ops
from glsl_infer.cpu import custom
from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Node, Shape
from glsl_infer.importers.keras import custom_operators, tensors
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.converters import LAYERS
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.keras.operations import OPERATIONS

Key = tuple[int, int, int]
"""Identity of a Keras tensor: that of the operation that made it, number of its call, number of its output."""


class Collected:
    """The nodes so far, in topological order, with unique names and their shapes, and what cannot be exported."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self.refusals: list[ModelError] = []
        self.guessed: set[str] = set()
        self._taken: set[str] = set()

    def free_name(self, wanted: str) -> str:
        """Take the name, or with ``~1``, ``~2`` ... behind it when it is taken: a layer may be called often."""
        names = (wanted, *(f"{wanted}~{index}" for index in range(1, len(self._taken) + 1)))
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name

    def refuse(self, refusal: ModelError, name: str, inputs: tuple[str, ...], tensor: Any) -> str:
        """Remember a layer that cannot be exported, and go on behind it with the shape that Keras gives it.

        Raises:
            ModelError: Keras does not know the shape, so that nothing can be said of the layers behind it.
        """
        shape = tuple(tensor.shape[1:])
        if None in shape:
            raise ModelError("\n  ".join(map(str, (*self.refusals, refusal))))
        if not self.guessed & set(inputs):  # else it may be refused for what stands before it
            self.refusals.append(refusal)
        self.guessed.add(name)
        self.shapes[name] = shape
        return name

    def add(self, nodes: list[Node]) -> str:
        """Add the nodes of one call, the first of which has its name already; return the name of the last."""
        renamed = {nodes[0].name: nodes[0].name}
        for node in nodes:
            name = renamed[node.name] = renamed.get(node.name) or self.free_name(node.name)
            node = replace(node, name=name, inputs=tuple(renamed.get(one, one) for one in node.inputs))  # noqa: PLW2901
            # Our own shapes, not those of Keras: a model inside another may know its sizes as None only.
            self.shapes[name] = ops.get(node.op).shape(node, [self.shapes[one] for one in node.inputs])
            self.nodes.append(node)
        return renamed[nodes[-1].name]


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
        operation, call_index, result = tensor._keras_history
        inputs = tuple(self._names[key(one)] for one in _inputs(tensor))
        name = self._collected.free_name(f"{self._prefix}{operation.name}")
        if _is_model(operation):
            outputs = self._inner(operation, name, inputs)
        else:
            arguments = operation._inbound_nodes[call_index].arguments
            shapes = tuple(self._collected.shapes[one] for one in inputs)
            given = (*arguments.args, *arguments.kwargs.values())
            shape = tuple(tensor.shape[1:])
            try:
                made = self._collected.add(_convert(Call(operation, name, inputs, shapes, given, shape, result)))
            except ModelError as refusal:
                made = self._collected.refuse(refusal, name, inputs, tensor)
            if result:  # each output of an operation with several is a node of its own
                self._names[key(tensor)] = made
                return
            outputs = [made]
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


def _converted(call: Call, convert: Converter, on_cpu: Converter | None) -> list[Node]:
    """Return the nodes of a call; where shaders cannot do it in this place, those for the CPU."""
    try:
        return convert(call)
    except ModelError:
        if on_cpu is None:
            raise
    return on_cpu(call)


def _convert(call: Call) -> list[Node]:
    kind, package = type(call.layer).__name__, type(call.layer).__module__.partition(".")[0]
    is_layer = isinstance(call.layer, keras().layers.Layer)
    function = custom.function_of(kind)
    if function is not None:
        return custom_operators.convert(call, function)
    # By name, which must be Keras' or ours: a class of somebody else may be called Add and do something else.
    known = package in ("keras", "glsl_infer")
    convert = (LAYERS if is_layer else OPERATIONS).get(kind) if known else None
    on_cpu = (tensors.LAYERS if is_layer else tensors.OPERATIONS).get(kind) if known else None
    if on_cpu is not None and (convert is None or not tensors.in_textures(call)):
        return on_cpu(call)
    if convert is not None:
        return _converted(call, convert, on_cpu)
    if hasattr(call.layer, "layers"):
        raise call.refused(f"the model {kind} inside the model cannot be exported", "build it with keras.Input")
    advice = f"these layers can be exported: {', '.join(sorted({*LAYERS, *tensors.LAYERS}))}"
    if not is_layer:
        advice = f"these operations can be exported: {', '.join(sorted({*OPERATIONS, *tensors.OPERATIONS}))}"
    raise call.refused(f"{with_article(kind)} cannot be exported", advice)
