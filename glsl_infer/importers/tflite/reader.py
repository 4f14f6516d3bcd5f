"""TensorFlow Lite file -> graph.

The importer knows nothing of GPU limits: whatever the graph can express is imported, and what the shaders cannot do is
refused later, by the operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.node import SEEN
from glsl_infer.importers.shared.collected import Collected
from glsl_infer.importers.shared.endings import Ending
from glsl_infer.importers.shared.ends import Ends, Range, input_attrs, with_ends
from glsl_infer.importers.shared.pieces import whole_functions
from glsl_infer.importers.tflite.call import Call, shape_of
from glsl_infer.importers.tflite.constants import Constants
from glsl_infer.importers.tflite.endings import Endings
from glsl_infer.importers.tflite.file import clean, read_model
from glsl_infer.importers.tflite.model import Model, Operator, Tensor
from glsl_infer.importers.tflite.operators import convert

_STORED: Mapping[str, tuple[float, float]] = {
    "INT8": (-128.0, 127.0),
    "UINT8": (0.0, 255.0),
    "INT16": (-32768.0, 32767.0),
}
"""The lowest and the highest number of types that stand for others."""

_NO_OPTIONS = (ArithmeticError, IndexError, KeyError, TypeError, ValueError)
"""What numbers raise that no operator has: converters check what models have, not what a damaged file may."""

_FLOATS = ("FLOAT32", "FLOAT16")


def load(path: str | Path, input_range: Range | None = None, ends: Ends | None = None) -> Graph:
    """Read a ``.tflite`` file and return its graph; see ``to_graph``.

    Raises:
        ModelError: the file is missing, damaged or no TensorFlow Lite file, or an operator is not supported (by name).
        InputError: ``input_range`` or ``ends`` do not fit the model.
        MissingExtraError: the package ``tflite`` is not installed.
    """
    return to_graph(read_model(path), input_range, ends)


def read(path: str | Path) -> Graph:
    """Read a ``.tflite`` file and return its graph; see ``load``."""
    return load(path)


def to_graph(model: Model, input_range: Range | None = None, ends: Ends | None = None) -> Graph:
    """Return the graph of a file.

    Inputs and outputs are called as in the file's signature, or like their tensors. An input of 1, 3 or 4 channels is
    a picture, any other takes numbers. The ranges of a quantised file stay with its layers.

    Args:
        model: what ``file.read_model`` returned.
        input_range: the values that byte 0 and byte 255 of the picture stand for. By default what a quantised file
            says, else (0, 1).
        ends: what else is known of inputs and outputs.

    Raises:
        ModelError: operators that are not supported, naming them and what to change.
        InputError: ``input_range`` or ``ends`` do not fit the model.
    """
    graph, _ = _imported(model)
    ends = ends or Ends()
    given = dict(ends.ranges)
    if input_range is not None:
        given = {"": input_range, **given}
    inputs = {node.name for node in graph.inputs}
    known = {name: span for name, span in _input_ranges(model).items() if name in inputs}
    if "" not in given:
        given = {**known, **given}
    return with_ends(graph, replace(ends, ranges=given))


def tensors_of(model: Model) -> dict[str, int]:
    """Return the tensor that a node of ``to_graph(model)`` computes, by the node's name."""
    return _imported(model)[1]


def _imported(model: Model) -> tuple[Graph, dict[str, int]]:
    walk = _Walk(model)
    endings: dict[str, Ending[int]] = {}
    for name, index in model.outputs:
        try:
            ending = walk.endings.of(index)
        except ModelError as refusal:
            walk.collected.refusals.append(refusal)
            continue
        endings[name] = ending
    walk.need([tensor for ending in endings.values() for tensor in ending.tensors])
    walk.all()
    if walk.collected.refusals:
        raise walk.collected.refused()
    outputs = [
        GraphOutput(name, tuple(walk.node_of(index) for index in ending.tensors), ending.steps)
        for name, ending in endings.items()
    ]
    graph = whole_functions(Graph(model.name, walk.collected.nodes, outputs))
    unread = [node.name for node in graph.inputs if not graph.consumers[node.name]]
    if unread and not set(unread) & set(graph.output_layers):
        raise ModelError.layer(unread[0], "an input that no output depends on", "convert the model without it")
    return graph, walk.made


@dataclass(frozen=True)
class _Made:
    """Who makes a tensor: the operator and which of its outputs it is."""

    operator: Operator
    output: int


class _Walk:
    """Goes through the operators that outputs need, in the file's order, which is that of execution."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._constants = Constants(model)
        self._makers: dict[int, _Made] = {}
        for operator in model.operators:
            self._require_made(operator)
            for output, index in enumerate(operator.outputs):
                if index in self._makers or index < 0:
                    raise ModelError(f"tensor '{model.tensors[index].name:.96}' is made twice; the file is damaged")
                self._makers[index] = _Made(operator, output)
        self.endings = Endings(model, self._constants, {index: made.operator for index, made in self._makers.items()})
        self.collected = Collected()
        self.made: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._needed: set[int] = set()

    def _require_made(self, operator: Operator) -> None:
        """Refuse an operator that reads what none before it makes: itself, say, in a file that never ends."""
        given = {index for _, index in self._model.inputs}
        for read in operator.inputs:
            if read >= 0 and read not in self._makers and read not in given and read not in self._constants:
                name = self._model.tensors[read].name
                raise ModelError(
                    f"operator {operator.kind:.60} reads tensor '{name:.96}', which no earlier operator makes; the "
                    "file is damaged"
                )

    def need(self, tensors: list[int]) -> None:
        """Mark tensors and what they are made of."""
        waiting = list(tensors)
        while waiting:
            index = waiting.pop()
            if index in self._needed or index in self._constants:
                continue
            self._needed.add(index)
            if index in self._makers:
                waiting += [read for read in self._makers[index].operator.inputs if read >= 0]

    def all(self) -> None:
        """Import the inputs and every operator that is needed."""
        for name, index in self._model.inputs:
            if index not in self._names:
                self._input(name, index)
        for operator in self._model.operators:
            for output, index in enumerate(operator.outputs):
                if index in self._needed and index not in self._names:
                    self._import(operator, output, index)

    def node_of(self, index: int) -> str:
        """Return the name of the node that computes a tensor.

        Raises:
            ModelError: it is a constant.
        """
        if index not in self._names:
            raise ModelError(f"output '{self._model.tensors[index].name:.96}' does not depend on any input")
        return self._names[index]

    def _input(self, name: str, index: int) -> None:
        tensor = self._model.tensors[index]
        shape = shape_of(tensor)
        if tensor.type not in (*_FLOATS, *_STORED):
            raise ModelError.layer(name, f"an input of type {tensor.type}", "inputs of float, int8 or uint8 are read")
        free = self.collected.free_name(name)
        node = Node(free, "input_fixed", (), {"shape": shape})
        if len(shape) == 3:
            node = Node(free, "input", (), input_attrs(shape))
        self._names[index] = self.collected.add([node])

    def _import(self, operator: Operator, output: int, index: int) -> None:
        tensor = self._model.tensors[index]
        read = [given for given in operator.inputs if given >= 0 and given not in self._constants]
        inputs = tuple(self._names[given] for given in read)
        name = self.collected.free_name(clean(tensor.name))
        try:
            self._names[index] = self._added(operator, output, tensor, name, inputs)
        except ModelError as refusal:
            wanted = _guess(tensor)
            if wanted is None:
                raise self.collected.refused(refusal) from None
            self._names[index] = self.collected.refuse(refusal, name, inputs, wanted)
            return
        self.made[self._names[index]] = index
        for node in reversed(self.collected.nodes):  # what is only reshaped has the same numbers
            if node.op != "reshape" or node.inputs[0] in inputs:
                break
            self.made[node.inputs[0]] = index

    def _added(self, operator: Operator, output: int, tensor: Tensor, name: str, inputs: tuple[str, ...]) -> str:
        wanted = shape_of(tensor)
        call = Call(
            name,
            operator,
            inputs,
            tuple(self.collected.shapes[given] for given in inputs),
            tuple(self._constants.get(given) for given in operator.inputs),
            tuple(self._model.tensors[given] if given >= 0 else None for given in operator.inputs),
            tensor,
            output,
        )
        if not inputs:
            raise call.refused("of constants alone", "convert the model anew, so that they are computed once")
        try:
            last = self.collected.add(convert(call))
        except _NO_OPTIONS as error:
            raise call.refused(f"options that make no sense ({error})", "the file is damaged; get it anew") from None
        shape = self.collected.shapes[last]
        if shape != wanted and np.prod(shape) == np.prod(wanted):  # a vector for a map of one pixel, say
            last = self.collected.add(
                [Node(self.collected.free_name(f"{name}-as"), "reshape", (last,), {"shape": wanted})]
            )
        elif shape != wanted:
            raise call.refused(f"makes {shape} where the file says {wanted}", "the file is damaged; convert it anew")
        span = _span(tensor)
        if span is not None:
            self.collected.nodes[-1] = self.collected.nodes[-1].with_attrs(**{SEEN: span})
        return last


def _guess(tensor: Tensor) -> tuple[int, ...] | None:
    try:
        return shape_of(tensor)
    except ModelError:
        return None


def _span(tensor: Tensor) -> Range | None:
    """Return the lowest and the highest value that a quantised tensor can have."""
    given = tensor.quantization
    if given is None or tensor.type not in _STORED or given.scales.size != 1:
        return None
    # In the file's own precision: 255 times its 1/255 is 1.
    low, high = (float(np.float32(given.scales[0] * (stored - given.zeros[0]))) for stored in _STORED[tensor.type])
    return (low, high) if low < high else None


def _input_ranges(model: Model) -> dict[str, Range]:
    """Return what the inputs of a quantised file stand for, also of floats that are quantised first of all."""
    ranges: dict[str, Range] = {}
    for name, index in model.inputs:
        span = _span(model.tensors[index])
        readers = [operator for operator in model.operators if index in operator.inputs]
        if span is None and readers and all(operator.kind == "QUANTIZE" and operator.outputs for operator in readers):
            span = _span(model.tensors[readers[0].outputs[0]])
        if span is not None:
            ranges[name] = span
    return ranges
