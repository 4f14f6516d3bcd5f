"""Conversion of the calls of a Keras model to nodes, in topological order."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from glsl_infer.cpu import custom
from glsl_infer.errors import ModelError, with_article
from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.emit import in_textures
from glsl_infer.importers.core.report import AFTER_UNKNOWN, DROPPED, UNKNOWN, LayerStatus, runs
from glsl_infer.importers.keras import own_layers, tensors
from glsl_infer.importers.keras.batch_axis import BatchLayouts
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.converters import LAYERS, TRAINING_ONLY
from glsl_infer.importers.keras.frames import Frames, along_channels, inner_of
from glsl_infer.importers.keras.inputs import picture_shape
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.keras.instead import INSTEAD
from glsl_infer.importers.keras.operations import OPERATIONS

FRAMES_RANK = 4
"""Rank of a sequence of maps, without the batch axis."""

Key = tuple[int, int, int]
"""Identity of a Keras tensor: the id of its operation, the index of the call, the index of the output."""


class Walk:
    """Traversal of one model from its outputs to its inputs, which imports every operation.

    Args:
        builder: the graph under construction.
        prefix: prefix of the names of the model's layers.
        names: nodes of tensors that are imported already.
        outer: the traversal of the enclosing model.
    """

    def __init__(self, builder: GraphBuilder, prefix: str, names: Mapping[Key, str], outer: Walk | None = None) -> None:
        self._builder = builder
        self._prefix = prefix
        self._inside = outer is not None
        self._names = dict(names)
        self._layouts: BatchLayouts = outer._layouts if outer else BatchLayouts(builder, _convert, self._unroll)
        self.frames: Frames = outer.frames if outer else Frames(builder)
        self.tensors: dict[str, Any] = {}

    def tensor(self, tensor: Any) -> str:
        """Return the name of the node that computes a Keras tensor, after importing its inputs."""
        stack = [tensor]
        while stack:
            if key(stack[-1]) in self._names:
                stack.pop()
                continue
            missing = [source for source in _inputs(stack[-1]) if key(source) not in self._names]
            if missing:
                stack += reversed(missing)
            else:
                self._import(stack.pop())
        name = self._names[key(tensor)]
        if self._inside:
            return name  # the enclosing model may move the batch to the front
        self._builder.refusals += self._layouts.output_problems(name)
        return name

    def _import(self, tensor: Any) -> None:
        """Import the call that computes a tensor, whose inputs are imported; record the nodes of all its outputs."""
        operation, call_index, _ = tensor._keras_history
        inputs = tuple(self._names[key(source)] for source in _inputs(tensor))
        name = self._builder.free_name(f"{self._prefix}{operation.name}")
        call_node = operation._inbound_nodes[call_index]
        inner = operation if _is_model(operation) else own_layers.traced(operation, call_node)
        if inner is not None:
            outputs = dict(enumerate(self._import_nested(inner, name, inputs)))
        else:
            outputs = self._layer(tensor, name, inputs)
        for index, output in outputs.items():
            self._names[id(operation), call_index, index] = output
            self.tensors[output] = call_node.output_tensors[index]

    def _layer(self, tensor: Any, name: str, inputs: tuple[str, ...]) -> dict[int, str]:
        """Import the operation of a tensor and record where it runs; return the names of its outputs by index."""
        operation, call_index, index = tensor._keras_history
        layer = _at_inference(operation)
        call_node, builder = operation._inbound_nodes[call_index], self._builder
        output_tensors = call_node.output_tensors
        arguments = (*call_node.arguments.args, *call_node.arguments.kwargs.values())
        status = LayerStatus(name, kind_of(operation), tuple(output_tensors[0].shape[1:]), UNKNOWN)
        node_count = len(builder.nodes)
        try:
            if builder.unknown & set(inputs):
                return self._skipped(Call(layer, name, inputs, (), arguments), status, len(output_tensors))
            shapes = tuple(builder.shapes[source] for source in inputs)
            shape = picture_shape(operation, shapes, tuple(tensor.shape[1:]))
            call = Call(layer, name, inputs, shapes, arguments, index, shape)
            if _reads_mask(layer) and any(_is_masked(source) for source in call_node.arguments.keras_tensors):
                advice = "take Masking out of the model, and give it sequences without steps to leave out"
                raise call.refused(f"{kind_of(layer)} on masked steps", advice)
            output = self._add_nodes(call, tensor.shape)
        except ModelError as refusal:
            builder.rows[name] = status.refused(refusal)
            return self._placeholders(name, inputs, [tuple(out.shape[1:]) for out in output_tensors], refusal)
        operators = tuple(node.op for node in builder.nodes[node_count:])
        is_dropped = kind_of(operation) in TRAINING_ONLY
        note = "does nothing outside of training" if is_dropped else ""
        placement = DROPPED if is_dropped else runs(operators)
        shape = builder.shapes[output]
        builder.rows[name] = replace(status, shape=shape, runs=placement, operators=operators, note=note)
        return {index: output}

    def _skipped(self, call: Call, status: LayerStatus, output_count: int) -> dict[int, str]:
        """Record a layer after a layer of unknown shape; return the names of its outputs by index.

        Raises:
            ModelError: the layer is not supported for any shape.
        """
        _converter(call)
        self._builder.rows[call.name] = replace(status, note=AFTER_UNKNOWN)
        names = [call.name, *(self._builder.free_name(call.name) for _ in range(output_count - 1))]
        self._builder.unknown.update(names)
        return dict(enumerate(names))

    def _placeholders(
        self, name: str, inputs: tuple[str, ...], shapes: Sequence[Shape], refusal: ModelError
    ) -> dict[int, str]:
        """Record a refused layer; return the placeholders of its outputs by index.

        Args:
            name: of the layer.
            inputs: names of its input nodes.
            shapes: shapes of its outputs in Keras, without the batch.
            refusal: the reason.
        """
        builder = self._builder
        parts = max(map(self._layouts.parts_of, inputs), default=1)
        if parts > 1:
            shapes = [(parts, *shape) for shape in shapes]
        others = [builder.placeholder(builder.free_name(name), shape) for shape in shapes[1:]]
        names = [builder.refuse(refusal, name, inputs, shapes[0]), *others]
        if parts > 1:
            self._layouts.record_parts(names, parts)
        return dict(enumerate(names))

    def _add_nodes(self, call: Call, shape: Sequence[int | None]) -> str:
        """Add the nodes of a call; return the one that computes its output.

        Args:
            call: the call.
            shape: shape of the output in Keras, with its batch.

        Raises:
            ModelError: the call is not supported.
        """
        output = self._layouts.add(call, shape)
        if output is not None:
            return output
        if type(call.layer).__name__ == "TimeDistributed":
            return self._add_distributed(call)
        output = self._builder.add(_convert(call))
        if type(call.layer).__name__ == "InputLayer" and len(call.shape) == FRAMES_RANK:
            self.frames.record_stacked(output, call.name)
        return output

    def _add_distributed(self, call: Call) -> str:
        """Add a TimeDistributed; return the node that computes its output."""
        inner = inner_of(call)
        if along_channels(inner, call.shapes[0]):
            return self._builder.add(_convert(replace(call, layer=inner)))
        return self._unroll(call, inner)

    def _unroll(self, call: Call, inner: Any) -> str:
        """Apply a layer to each entry of a call's first input axis; return the node that concatenates the results."""

        def step(name: str, source: str, shape: Shape) -> str:
            inner_name = self._builder.free_name(f"{name}/{inner.name}")
            if _is_model(inner):
                return self._import_nested(inner, inner_name, (source,))[0]
            shapes = (self._builder.shapes[source],)
            return self._builder.add(_convert(Call(inner, inner_name, (source,), shapes, call.arguments, 0, shape)))

        return self.frames.unroll(call, step)

    def _import_nested(self, model: Any, name: str, inputs: tuple[str, ...]) -> list[str]:
        """Import a nested model; return the names of its outputs."""
        if len(inputs) != len(model.inputs):
            raise ModelError.layer(
                name, f"a model of {len(model.inputs)} inputs called on {len(inputs)}", "call it on all of them"
            )
        names = {key(tensor): node for tensor, node in zip(model.inputs, inputs)}
        walk = Walk(self._builder, f"{name}/", names, self)
        return [walk.tensor(output) for output in model.outputs]


def key(tensor: Any) -> Key:
    """Return a key that identifies a Keras tensor within its model."""
    operation, call_index, tensor_index = tensor._keras_history
    return id(operation), call_index, tensor_index


def _inputs(tensor: Any) -> list[Any]:
    """Return the inputs of the operation of a tensor."""
    operation, call_index, _ = tensor._keras_history
    return list(operation._inbound_nodes[call_index].arguments.keras_tensors)


def _at_inference(operation: Any) -> Any:
    """Return a layer in its form at inference: for a SpectralNormalization, the inner layer, which has the weights."""
    is_spectral = type(operation).__name__ == "SpectralNormalization" and _is_of_keras(operation)
    return _at_inference(operation.layer) if is_spectral else operation


def _is_of_keras(operation: Any) -> bool:
    return type(operation).__module__.partition(".")[0] == "keras"


def _is_model(operation: Any) -> bool:
    """Return whether an operation is a model that can be traversed: functional, or sequential and built."""
    return bool(hasattr(operation, "layers") and getattr(operation, "inputs", None) and operation.outputs)


def _is_masked(tensor: Any) -> bool:
    """Return whether some steps of a Keras tensor are masked, by a layer Masking."""
    return getattr(tensor, "_keras_mask", None) is not None


def _reads_mask(operation: Any) -> bool:
    """Return whether the result of a layer depends on a mask at inference."""
    options = inspect.signature(operation.call).parameters
    return any("mask" in option for option in options) and kind_of(operation) != "BatchNormalization"


def _with_fallback(convert: Converter, to_kernels: Converter) -> Converter:
    """Return the converter to operators with shaders, with a fallback to kernels for refused calls."""

    def convert_or_fall_back(call: Call) -> list[Node]:
        try:
            return convert(call)
        except ModelError:
            return to_kernels(call)

    return convert_or_fall_back


def kind_of(operation: Any) -> str:
    """Return the class name of a layer or an operation. For a placeholder, it is that of the replaced layer."""
    return str(getattr(operation, "stands_for", "") or type(operation).__name__)


def _convert(call: Call) -> list[Node]:
    """Return the nodes of a call; errors as for ``_converter``."""
    return _converter(call)(call)


def _converter(call: Call) -> Converter:
    """Return the converter of a layer or an operation.

    Raises:
        ModelError: the layer or operation is not supported.
    """
    kind, package = type(call.layer).__name__, type(call.layer).__module__.partition(".")[0]
    if hasattr(call.layer, "stands_for"):
        raise call.refused(*call.layer.refusal())
    is_layer = isinstance(call.layer, keras().layers.Layer)
    function = custom.function_of(kind)
    if function is not None:
        return lambda call: own_layers.by_function(call, function)
    # By name in Keras or this package only: a class of another package may be called Add and differ.
    is_known = package in ("keras", "glsl_infer")
    convert = (LAYERS if is_layer else OPERATIONS).get(kind) if is_known else None
    to_kernels = (tensors.LAYERS if is_layer else tensors.OPERATIONS).get(kind) if is_known else None
    if to_kernels is not None and (convert is None or not in_textures(*call.shapes, call.shape)):
        return to_kernels
    if convert is not None:
        return convert if to_kernels is None else _with_fallback(convert, to_kernels)
    if hasattr(call.layer, "layers"):
        raise call.refused(f"the model {kind} inside the model cannot be exported", "build it with keras.Input")
    advice = INSTEAD.get(kind) if is_known else own_layers.advice(call.layer)
    if advice is None:
        both = (LAYERS, tensors.LAYERS) if is_layer else (OPERATIONS, tensors.OPERATIONS)
        names = sorted({name for table in both for name in table if name not in TRAINING_ONLY})
        advice = f"these {'layers' if is_layer else 'operations'} can be exported: {', '.join(names)}"
    raise call.refused(f"{with_article(kind)} cannot be exported", advice)
