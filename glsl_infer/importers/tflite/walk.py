"""Conversion of a file's operators to nodes, in the order of the file, which is the order of execution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.graph.picture import PICTURE_CHANNELS
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.core.io_options import Range, in_rows, input_attrs, numbers_map
from glsl_infer.importers.core.report import AFTER_UNKNOWN, DROPPED, SHADER, UNKNOWN, LayerStatus, runs
from glsl_infer.importers.tflite.call import Call, shape_of
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.detections import SHARED
from glsl_infer.importers.tflite.file import clean
from glsl_infer.importers.tflite.model import Model, Operator, Tensor
from glsl_infer.importers.tflite.operators import convert
from glsl_infer.importers.tflite.rewrites import BatchMoves, dilated
from glsl_infer.importers.tflite.shapes import Sizes, resolved
from glsl_infer.ops.operator import CopyOperator

STORED: Mapping[str, tuple[float, float]] = {
    "INT8": (-128.0, 127.0),
    "UINT8": (0.0, 255.0),
    "INT16": (-32768.0, 32767.0),
}
"""The lowest and the highest stored value of quantised types."""

_FLOATS = ("FLOAT32", "FLOAT16")


class Walk:
    """Conversion of the operators needed for the outputs.

    Attributes:
        builder: the graph under construction.
        tensors: index of the tensor that each node computes, by the node's name.
    """

    def __init__(self, model: Model, sizes: Sizes | None = None) -> None:
        self._model, self._constants = model, Constants(model)
        self._producers: dict[int, Operator] = {}
        inputs = {index for _, index in model.inputs}
        positions: dict[int, int] = {}
        for position, operator in enumerate(model.operators):
            self._require_operands(operator, inputs)
            for index in operator.outputs:
                if index in self._producers or index in inputs or index < 0:
                    raise ModelError(f"tensor '{model.tensors[index].name:.96}' is made twice; the file is damaged")
                self._producers[index] = operator
                positions[index] = position
        model, self._constants = resolved(model, sizes)
        self._model = model
        moves = BatchMoves(model.tensors, self._constants, self._producers, positions)
        self._operators = tuple(
            dilated(model, self._constants, self._producers, operator) or moves.fused(operator) or operator
            for operator in model.operators
        )
        self._producers.update({index: operator for operator in self._operators for index in operator.outputs})
        self.builder = GraphBuilder()
        self.tensors: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._needed: set[int] = set()
        self._shared: dict[int, str] = {}

    def _require_operands(self, operator: Operator, inputs: set[int]) -> None:
        """Refuse an operator with an input that earlier operators do not compute, such as one of its own outputs."""
        for index in operator.inputs:
            if index >= 0 and index not in self._producers and index not in inputs and index not in self._constants:
                name = self._model.tensors[index].name
                raise ModelError(
                    f"operator {operator.kind:.60} reads tensor '{name:.96}', which no earlier operator makes; the "
                    "file is damaged"
                )

    def need(self, tensors: list[int]) -> None:
        """Mark tensors and their direct and indirect inputs."""
        pending = list(tensors)
        while pending:
            index = pending.pop()
            if index in self._needed:
                continue
            self._needed.add(index)
            if index in self._producers:
                pending += [source for source in self._producers[index].inputs if source >= 0]

    def import_outputs(self) -> None:
        """Import the inputs and every operator needed for the outputs."""
        for name, index in self._model.inputs:
            if index not in self._names:
                self._input(name, index)
        for operator in self._operators:
            needed = [output for output, tensor in enumerate(operator.outputs) if tensor in self._needed]
            if not needed or all(operator.outputs[output] in self._constants for output in needed):
                continue
            for output in needed:
                if operator.outputs[output] not in self._names:
                    self._import(operator, output)

    def node_of(self, index: int) -> str:
        """Return the name of the node that computes a tensor.

        Raises:
            ModelError: the tensor is a constant.
        """
        if index not in self._names:
            raise ModelError(f"output '{self._model.tensors[index].name:.96}' does not depend on any input")
        return self._names[index]

    def _input(self, name: str, index: int) -> None:
        """Add the nodes of an input.

        Raises:
            ModelError: its type is not supported, or it is a batch of images.
        """
        tensor = self._model.tensors[index]
        shape = shape_of(tensor)
        if tensor.type not in (*_FLOATS, *STORED):
            raise ModelError.layer(name, f"an input of type {tensor.type}", "inputs of float, int8 or uint8 are read")
        has_batch = len(tensor.shape) > 1 and tensor.shape[0] != 1
        if has_batch and len(tensor.shape) == 4 and tensor.shape[3] in PICTURE_CHANNELS:
            single = "x".join(map(str, (1, *shape[1:])))
            advice = f"one image at a time can be computed; give --input-shape {name}={single}"
            raise ModelError.layer(name, f"an input of shape {tensor.shape}", advice)
        node_name = self.builder.free_name(name)
        nodes = [Node(node_name, "input_fixed", (), {"shape": shape})]
        if len(shape) not in (1, 3):
            flat = Node(node_name, "input_fixed", (), {"shape": (math.prod(shape),)})
            nodes = [flat, Node(f"{node_name}-shape", "tensor_reshape", (node_name,), {"shape": shape})]
        elif has_batch and len(shape) == 3:  # for example the state of a recurrent layer
            nodes = [Node(node_name, "input", (), numbers_map(shape))]
        elif self._is_grey(index):
            rows = Node(f"{node_name}-rows", "reshape", (node_name,), {"shape": shape})
            nodes, shape = [Node(node_name, "input", (), input_attrs((*shape[1:], 1))), rows], (*shape[1:], 1)
        elif in_rows(shape) != shape:
            row = Node(f"{node_name}-line", "reshape", (node_name,), {"shape": shape})
            nodes = [Node(node_name, "input", (), numbers_map(in_rows(shape))), row]
        elif len(shape) == 3:
            nodes = [Node(node_name, "input", (), input_attrs(shape))]
        self._names[index] = self.builder.add(nodes)
        self.builder.rows[node_name] = LayerStatus(node_name, "input", shape, SHADER, (nodes[0].op,))

    def _is_grey(self, index: int) -> bool:
        """Return whether a tensor (1, height, width) is an image: all its readers add a channel axis or flatten it."""
        tensors = self._model.tensors
        shape = tensors[index].shape
        readers = [op for op in self._model.operators if index in op.inputs and op.kind != "SHAPE"]
        reshaped = {tensors[op.outputs[0]].shape for op in readers if op.kind in ("RESHAPE", "EXPAND_DIMS")}
        if len(shape) != 3 or not readers:
            return False
        quantizing = [op for op in readers if op.kind in ("DEQUANTIZE", "QUANTIZE")]
        grey_shapes = {(*shape, 1), (1, math.prod(shape)), (math.prod(shape),)}
        others = [op for op in readers if op.kind not in ("RESHAPE", "EXPAND_DIMS") and op not in quantizing]
        return not others and reshaped <= grey_shapes and all(self._is_grey(op.outputs[0]) for op in quantizing)

    def _import(self, operator: Operator, output: int) -> None:
        """Convert an operator to nodes for the output with an index, and record where it runs, or the refusal."""
        index = operator.outputs[output]
        tensor, builder = self._model.tensors[index], self.builder
        inputs = tuple(self._names[source] for source in operator.inputs if source in self._names)
        name = builder.free_name(clean(tensor.name))
        row = LayerStatus(name, operator.kind, _sizes(tensor), UNKNOWN)
        if builder.unknown & set(inputs):
            builder.rows[name] = replace(row, note=AFTER_UNKNOWN)
            builder.unknown.add(name)
            self._names[index] = name
            return
        before = len(builder.nodes)
        try:
            last = self._converted(operator, output, name, inputs)
        except ModelError as refusal:
            del builder.nodes[before:]
            builder.rows[name] = row.refused(refusal)
            self._names[index] = builder.refuse(refusal, name, inputs, _sizes(tensor))
            return
        operators = tuple(node.op for node in builder.nodes[before:])
        placement = DROPPED if operators == ("identity",) else runs(operators)
        builder.rows[name] = replace(row, shape=builder.shapes[last], runs=placement, operators=operators)
        self._names[index] = last
        self.tensors[last] = index
        for node in reversed(builder.nodes):  # a reshape keeps the values
            if node.op != "reshape" or node.inputs[0] in inputs:
                break
            self.tensors[node.inputs[0]] = index

    def _converted(self, operator: Operator, output: int, name: str, inputs: tuple[str, ...]) -> str:
        """Add the nodes of an operator for one output; return the node with the output's shape in the file.

        Args:
            operator: the operator.
            output: index of the output.
            name: of the first node.
            inputs: names of its input nodes.

        Raises:
            ModelError: the operator is not supported, or the file is damaged.
        """
        tensor = self._model.tensors[operator.outputs[output]]
        call = Call(
            name,
            operator,
            inputs,
            tuple(self.builder.shapes[source] for source in inputs),
            tuple(self._constants.get(index) for index in operator.inputs),
            tuple(self._model.tensors[index] if index >= 0 else None for index in operator.inputs),
            tensor,
            output,
            self._shared.get(operator.outputs[0], ""),
        )
        if not inputs:
            raise call.refused("of constants alone", "convert the model anew, so that they are computed once")
        before = len(self.builder.nodes)
        try:
            last = self.builder.add(convert(call))
        except MISFITS as error:
            what = f"options that make no sense ({str(error)[:200]})"
            raise call.refused(what, "the file is damaged; get it anew") from None
        shared = [node.name for node in self.builder.nodes[before:] if node.op in SHARED]
        if shared:
            self._shared[operator.outputs[0]] = shared[0]
        shape = self.builder.shapes[last]
        is_undeclared = tensor.free or (operator.custom and not math.prod(tensor.shape or (0,)))
        declared = shape if is_undeclared else shape_of(tensor)
        if shape != declared and math.prod(shape) == math.prod(declared):  # such as a vector instead of a 1x1 map
            reshape = Node(self.builder.free_name(f"{name}-as"), "reshape", (last,), {"shape": declared})
            last = self.builder.add([reshape])
        elif shape != declared:
            raise call.refused(f"makes {shape} where the file says {declared}", "the file is damaged; convert it anew")
        span = span_of(tensor)
        if span is not None:
            self._store_range(span, before)
        return last

    def _store_range(self, span: Range, first: int) -> None:
        """Store the range of the last value with the node that computes it, not with nodes that only move it."""
        nodes = self.builder.nodes
        for index in range(len(nodes) - 1, first - 1, -1):
            nodes[index] = nodes[index].with_attrs(**{OBSERVED_RANGE: span})
            operator = ops.get(nodes[index].op)
            if not (operator.keeps_range or operator.only_reshapes or isinstance(operator, CopyOperator)):
                break


def span_of(tensor: Tensor) -> Range | None:
    """Return the lowest and the highest value that a quantised tensor can represent; None for any other tensor."""
    quantization = tensor.quantization
    if quantization is None or tensor.type not in STORED or quantization.scales.size != 1:
        return None
    # In the precision of the file: 255 times its 1/255 is 1.
    with np.errstate(all="ignore"):
        low, high = (
            float(np.float32(quantization.scales[0] * (stored - quantization.zeros[0])))
            for stored in STORED[tensor.type]
        )
    return (low, high) if low < high and math.isfinite(high - low) else None


def _sizes(tensor: Tensor) -> tuple[int | None, ...]:
    """Return the declared shape of a tensor, without the batch, with None for an unknown size."""
    try:
        return shape_of(replace(tensor, free=())) if not tensor.free else (None,) * (len(tensor.shape) - 1)
    except ModelError:
        return (None,)
