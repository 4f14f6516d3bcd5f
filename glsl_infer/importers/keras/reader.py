"""Keras model -> graph. Keras is imported by this module and its neighbours, nowhere else in the engine.

The importer knows nothing of GPU limits: whatever the graph can express is imported, and what the shaders
cannot do is refused later, by the operator.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from glsl_infer import ops
from glsl_infer.errors import InputError, MissingExtraError, ModelError, with_article
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.picture import with_picture_range
from glsl_infer.importers.keras.call import Call, same_padding
from glsl_infer.importers.keras.converters import LAYERS
from glsl_infer.importers.keras.operations import OPERATIONS
from glsl_infer.importers.keras.quiet import stderr_silenced
from glsl_infer.support import llvm_clash

__all__ = ["load", "load_model", "same_padding", "tensors_of", "to_graph", "version", "with_outputs"]

Range = tuple[float, float]
"""(value that byte 0 stands for, value that byte 255 stands for)."""

Key = tuple[int, int, int]
"""Identity of a Keras tensor: that of the operation that made it, number of its call, number of its output."""

RAW_BYTES_SCALE = 1.0 / 32.0
"""A model that first scales its input by this or less expects bytes: Rescaling(1/255), (1/127.5, -1), 1/57.1 ..."""


def load(path: str | Path, input_range: Range | None = None) -> Graph:
    """Read a saved ``.keras`` model and return its graph.

    Args:
        path: the file.
        input_range: see ``to_graph``.

    Raises:
        ModelError: the file is missing or no Keras model, or a layer is not supported (by name).
        InputError: an ``input_range`` that is none.
        MissingExtraError: Keras is not installed.
    """
    return to_graph(load_model(path), input_range)


def load_model(path: str | Path) -> Any:
    """Read a saved ``.keras`` model as a Keras model, uncompiled, with this package's layers known.

    Raises:
        ModelError: the file is missing or no Keras model.
        MissingExtraError: Keras is not installed.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    keras = _keras()
    try:
        with stderr_silenced():
            return keras.saving.load_model(path, compile=False)
    except Exception as error:  # Keras raises a dozen kinds here; all mean that the file is not usable.
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(f"{path}: not a model that Keras can load ({reason})") from error


def to_graph(model: Any, input_range: Range | None = None) -> Graph:
    """Return the graph of a functional or sequential Keras model.

    Args:
        model: the model; models inside it are imported with it, their layers named ``inner/layer``.
        input_range: the values that byte 0 and byte 255 of the picture stand for, as the model was trained: (0, 1),
            (-1, 1), (0, 255). By default (0, 255) where the model itself begins with a rescaling by 1/32 or less,
            as Keras models on raw bytes do, else (0, 1).

    Raises:
        ModelError: a layer or an option that is not supported, naming the layer and what to change.
        InputError: an ``input_range`` that is none.
    """
    _keras()
    if not getattr(model, "inputs", None) or not getattr(model, "outputs", None):
        raise ModelError(f"model '{model.name}' is not functional; build it with keras.Input and keras.Model")
    if len(model.outputs) != 1:
        raise ModelError(f"model '{model.name}' has {len(model.outputs)} outputs; exactly one is supported")
    collected = _Collected()
    output = _Walk(collected, "", {}).tensor(model.outputs[0])
    graph = Graph(model.name, tuple(collected.nodes), output)
    return graph.rebuilt([_with_range(graph, node, input_range) for node in graph.nodes])


def tensors_of(model: Any) -> dict[str, Any]:
    """Return the Keras tensor that a node of ``to_graph(model)`` computes, by the node's name.

    Nodes that are a part of a layer have none (the sum of a Dense layer with an activation), nor have those of models
    inside the model.
    """
    walk = _Walk(_Collected(), "", {})
    walk.tensor(model.outputs[0])
    return walk.tensors


def with_outputs(model: Any, tensors: Any) -> Any:
    """Return a Keras model with the inputs of ``model`` that computes a tensor of it, or a list of them."""
    return _keras().Model(model.inputs, tensors)


def version() -> str:
    """Return which Keras this is, and on which backend: ``Keras 3.13.0, tensorflow``."""
    keras = _keras()
    return f"Keras {keras.version()}, {keras.backend.backend()}"


class _Collected:
    """The nodes so far, in topological order, with unique names and their shapes."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.shapes: dict[str, Shape] = {}
        self._taken: set[str] = set()

    def free_name(self, wanted: str) -> str:
        """Take the name, or with ``~1``, ``~2`` ... behind it when it is taken: a layer may be called often."""
        names = (wanted, *(f"{wanted}~{index}" for index in range(1, len(self._taken) + 1)))
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
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


class _Walk:
    """Walks through one model from its output to its inputs, importing what it meets."""

    def __init__(self, collected: _Collected, prefix: str, known: Mapping[Key, str]) -> None:
        self._collected = collected
        self._prefix = prefix
        self._names = dict(known)
        self.tensors: dict[str, Any] = {}

    def tensor(self, tensor: Any) -> str:
        """Return the name of the node that computes a Keras tensor, importing what it needs first."""
        stack = [tensor]
        while stack:
            if _key(stack[-1]) in self._names:
                stack.pop()
                continue
            waiting = [one for one in _inputs(stack[-1]) if _key(one) not in self._names]
            if waiting:
                stack += reversed(waiting)
            else:
                self._import(stack.pop())
        return self._names[_key(tensor)]

    def _import(self, tensor: Any) -> None:
        operation, call_index, _ = tensor._keras_history
        inputs = tuple(self._names[_key(one)] for one in _inputs(tensor))
        name = self._collected.free_name(f"{self._prefix}{operation.name}")
        if _is_model(operation):
            outputs = self._inner(operation, name, inputs)
        else:
            arguments = operation._inbound_nodes[call_index].arguments
            shapes = tuple(self._collected.shapes[one] for one in inputs)
            given = (*arguments.args, *arguments.kwargs.values())
            outputs = [self._collected.add(_convert(Call(operation, name, inputs, shapes, given)))]
        for index, output in enumerate(outputs):
            self._names[id(operation), call_index, index] = output
            self.tensors[output] = operation._inbound_nodes[call_index].output_tensors[index]

    def _inner(self, model: Any, name: str, inputs: tuple[str, ...]) -> list[str]:
        """Import a model that is called like a layer; return the names of its outputs."""
        if len(inputs) != len(model.inputs):
            raise ModelError.layer(
                name, f"a model of {len(model.inputs)} inputs called on {len(inputs)}", "call it on all of them"
            )
        known = {_key(tensor): given for tensor, given in zip(model.inputs, inputs)}
        walk = _Walk(self._collected, f"{name}/", known)
        return [walk.tensor(output) for output in model.outputs]


def _key(tensor: Any) -> Key:
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
    is_layer = isinstance(call.layer, _keras().layers.Layer)
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


def _with_range(graph: Graph, node: Node, given: Range | None) -> Node:
    """Return an input node with what its bytes stand for, and any other node as it is."""
    if node.op != "input":
        return node
    low, high = (0.0, 255.0 if _expects_bytes(graph, node) else 1.0) if given is None else given
    if not math.isfinite(low) or not math.isfinite(high) or low == high:
        raise InputError(f"an input_range of {given}; give two different numbers, for byte 0 and for byte 255")
    return with_picture_range(node, (float(high - low),), (-255.0 * low / (high - low) if low else 0.0,))


def _expects_bytes(graph: Graph, node: Node) -> bool:
    """Return whether rescaling that alone reads the picture, in one layer or several, makes small numbers of it."""
    scale, rescaled = 1.0, False
    while len(readers := graph.consumers[node.name]) == 1 and readers[0].op in ("rescaling", "identity"):
        (node,) = readers
        if node.op == "rescaling":
            scale, rescaled = scale * max(abs(factor) for factor in node.attrs["scales"]), True
    return rescaled and scale <= RAW_BYTES_SCALE


def _keras() -> Any:
    """Import Keras and our layers, quietly, with TensorFlow behind it unless another backend is chosen."""
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if (
        not llvm_clash.tensorflow_loaded()
        and llvm_clash.mesa_llvm_loaded()
        and os.environ["KERAS_BACKEND"] == "tensorflow"
    ):
        raise InputError(llvm_clash.ADVICE)
    try:
        with stderr_silenced():
            import keras

            from glsl_infer.importers.keras import layers as keras_layers  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of(f"Keras with a backend ({error})", "tensorflow", "exporting a Keras model") from None
    return keras
