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
from glsl_infer.importers.keras import batch_axis, own_layers, tensors
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
        self._batch: dict[str, int] = outer._batch if outer else {}
        self._parts: dict[str, int] = outer._parts if outer else {}
        self.frames: Frames = outer.frames if outer else Frames(builder)
        self.tensors: dict[str, Any] = {}

    def tensor(self, tensor: Any) -> str:
        """Return the name of the node that computes a Keras tensor, after importing its inputs."""
        stack = [tensor]
        while stack:
            if key(stack[-1]) in self._names:
                stack.pop()
                continue
            missing = [before for before in _inputs(stack[-1]) if key(before) not in self._names]
            if missing:
                stack += reversed(missing)
            else:
                self._import(stack.pop())
        name = self._names[key(tensor)]
        if self._inside:
            return name  # the enclosing model may move the batch to the front
        if self._batch.get(name):
            advice = "bring the batch back to the front, with keras.ops.transpose"
            self._builder.refusals.append(
                ModelError.layer(name, f"an output whose batch is axis {self._batch[name]}", advice)
            )
        if self._parts.get(name):
            problem = f"an output with {self._parts[name]} parts of each image in its batch"
            self._builder.refusals.append(ModelError.layer(name, problem, "reshape it to (-1, parts, ...)"))
        return name

    def _import(self, tensor: Any) -> None:
        operation, call_index, _ = tensor._keras_history
        inputs = tuple(self._names[key(before)] for before in _inputs(tensor))
        name = self._builder.free_name(f"{self._prefix}{operation.name}")
        call_node = operation._inbound_nodes[call_index]
        inner = operation if _is_model(operation) else own_layers.traced(operation, call_node)
        if inner is not None:
            outputs = dict(enumerate(self._inner(inner, name, inputs)))
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
        row = LayerStatus(name, kind_of(operation), tuple(output_tensors[0].shape[1:]), UNKNOWN)
        before = len(builder.nodes)
        try:
            if builder.unknown & set(inputs):
                _converter(Call(layer, name, inputs, (), arguments))  # refuses unsupported layers, without shapes
                builder.rows[name] = replace(row, note=AFTER_UNKNOWN)
                names = [name, *(builder.free_name(name) for _ in output_tensors[1:])]
                builder.unknown.update(names)
                return dict(enumerate(names))
            shapes = tuple(builder.shapes[source] for source in inputs)
            shape = picture_shape(operation, shapes, tuple(tensor.shape[1:]))
            call = Call(layer, name, inputs, shapes, arguments, index, shape)
            if _reads_mask(layer) and any(_is_masked(before) for before in call_node.arguments.keras_tensors):
                advice = "take Masking out of the model, and give it sequences without steps to leave out"
                raise call.refused(f"{kind_of(layer)} on masked steps", advice)
            output = self._converted(call, tensor)
        except ModelError as refusal:
            builder.rows[name] = row.refused(refusal)
            return self._placeholders(name, inputs, [tuple(out.shape[1:]) for out in output_tensors], refusal)
        operators = tuple(node.op for node in builder.nodes[before:])
        is_dropped = kind_of(operation) in TRAINING_ONLY
        note = "does nothing outside of training" if is_dropped else ""
        placement = DROPPED if is_dropped else runs(operators)
        builder.rows[name] = replace(row, shape=builder.shapes[output], runs=placement, operators=operators, note=note)
        return {index: output}

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
        parts = max((self._parts.get(source, 1) for source in inputs), default=1)
        if parts > 1:
            shapes = [(parts, *shape) for shape in shapes]
        others = [builder.placeholder(builder.free_name(name), shape) for shape in shapes[1:]]
        names = [builder.refuse(refusal, name, inputs, shapes[0]), *others]
        if parts > 1:
            self._parts.update(dict.fromkeys(names, parts))
        return dict(enumerate(names))

    def _converted(self, call: Call, tensor: Any) -> str:
        """Add the nodes of a call; return the one that computes ``tensor``.

        Raises:
            ModelError: the call is not supported.
        """
        batch_axes = tuple(self._batch.get(name, 0) for name in call.inputs)
        parts = tuple(self._parts.get(name, 1) for name in call.inputs)
        if max(parts, default=1) > 1 and batch_axis.moves_batch(call.layer, len(call.shapes[0]), batch_axes):
            nodes, axis = batch_axis.convert_with_parts_at_axis(call, tensor.shape, batch_axes, parts[0], _convert)
            output = self._builder.add(nodes)
            self._parts[output], self._batch[output] = parts[0], axis
            return output
        if not any(batch_axes):
            if batch_axis.needs_a_copy_per_part(call, parts):
                return self._copied_per_part(call, parts[0])
            changes_batch = len(parts) == 1 and batch_axis.changes_batch(call.layer, call.shapes[0], call.shape)
            if changes_batch or any(count > 1 for count in parts):
                return self._with_parts(call, parts)
        if batch_axis.moves_batch(call.layer, len(tensor.shape), batch_axes):
            return self._with_batch_at_axis(call, batch_axes, tensor.shape)
        if type(call.layer).__name__ == "TimeDistributed":
            return self._distributed(call)
        output = self._builder.add(_convert(call))
        if type(call.layer).__name__ == "InputLayer" and len(call.shape) == FRAMES_RANK:
            self.frames.below(output, call.name)
        return output

    def _copied_per_part(self, call: Call, parts: int) -> str:
        """Add a call that processes every part of an image separately: stacked if possible, else one by one."""
        stacked = batch_axis.stack_parts(call, _convert)
        if stacked:
            output = self._builder.add(stacked)
        else:
            output = self._each(replace(call, shape=(parts, *call.shape)), call.layer)
        self._parts[output] = parts
        return output

    def _with_parts(self, call: Call, parts: tuple[int, ...]) -> str:
        """Add a call whose inputs or output have several parts of each image in their batch."""
        nodes, output_parts = batch_axis.convert_with_parts(call, parts, _convert)
        output = self._builder.add(nodes)
        if output_parts > 1:
            self._parts[output] = output_parts
        return output

    def _with_batch_at_axis(self, call: Call, batch_axes: tuple[int, ...], shape: Shape) -> str:
        """Add a call whose inputs or output have a batch that is not the first axis.

        Args:
            call: the call.
            batch_axes: the batch axis of each input.
            shape: shape of the output, with its batch.
        """
        nodes_and_axis = batch_axis.convert_axis_operation(call, batch_axes[0])
        if nodes_and_axis is None:
            axis = batch_axis.axis_after(call, batch_axes)
            nodes_and_axis = _convert(batch_axis.with_output_shape(call, axis, shape)), axis
        nodes, axis = nodes_and_axis
        output = self._builder.add(nodes)
        if axis:
            self._batch[output] = axis
        return output

    def _distributed(self, call: Call) -> str:
        inner = inner_of(call)
        if along_channels(inner, call.shapes[0]):
            return self._builder.add(_convert(replace(call, layer=inner)))
        return self._each(call, inner)

    def _each(self, call: Call, inner: Any) -> str:
        """Apply a layer to each entry of a call's first input axis; return the node that concatenates the results."""

        def step(name: str, source: str, shape: Shape) -> str:
            inner_name = self._builder.free_name(f"{name}/{inner.name}")
            if _is_model(inner):
                return self._inner(inner, inner_name, (source,))[0]
            shapes = (self._builder.shapes[source],)
            return self._builder.add(_convert(Call(inner, inner_name, (source,), shapes, call.arguments, 0, shape)))

        return self.frames.unrolled(call, step)

    def _inner(self, model: Any, name: str, inputs: tuple[str, ...]) -> list[str]:
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


def _either(convert: Converter, to_kernels: Converter) -> Converter:
    """Return the converter to operators with shaders, with a fallback to kernels for refused calls."""

    def either(call: Call) -> list[Node]:
        try:
            return convert(call)
        except ModelError:
            return to_kernels(call)

    return either


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
        return convert if to_kernels is None else _either(convert, to_kernels)
    if hasattr(call.layer, "layers"):
        raise call.refused(f"the model {kind} inside the model cannot be exported", "build it with keras.Input")
    advice = INSTEAD.get(kind) if is_known else own_layers.advice(call.layer)
    if advice is None:
        both = (LAYERS, tensors.LAYERS) if is_layer else (OPERATIONS, tensors.OPERATIONS)
        names = sorted({name for table in both for name in table if name not in TRAINING_ONLY})
        advice = f"these {'layers' if is_layer else 'operations'} can be exported: {', '.join(names)}"
    raise call.refused(f"{with_article(kind)} cannot be exported", advice)
