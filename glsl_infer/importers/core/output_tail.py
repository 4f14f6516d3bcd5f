"""The output tail of a model as host steps: the last layers of detectors and masks, which are faster on the CPU.

A detector ends in a reshape of maps to rows, a concatenation of the rows, and a sigmoid or a softmax. A mask ends in an
argmax over channels, and an embedding in a vector of length 1. These layers are not imported: the import starts at
their inputs. Softmax and sigmoid of vectors are left to ``compiler.optimize``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from glsl_infer.graph import GraphOutput, Node, Shape
from glsl_infer.graph.host_steps import ARGMAX, CONCATENATE, NORMALIZE, ROWS, SIGMOID, SOFTMAX, HostStep
from glsl_infer.importers.core.report import CPU, SHADER, LayerStatus
from glsl_infer.program.layout import TEXTURE_RANKS

Value = TypeVar("Value")
"""A tensor, in the type of the importer."""

MOST_TENSORS = 64
"""Largest number of layers from which an output of a bundle is made."""

NOTHING = HostStep("")
"""The host step of a layer without an effect."""


@dataclass(frozen=True)
class OutputTail(Generic[Value]):
    """The tail of an output: tensors to import, and the host steps after them."""

    tensors: tuple[Value, ...]
    steps: tuple[HostStep, ...]


@dataclass(frozen=True)
class Layers(Generic[Value]):
    """Queries about the layers that compute tensors.

    Attributes:
        step: returns the host step of the layer of a tensor, ``NOTHING``, or None if it is not a host step.
        is_join: returns whether the layer concatenates rows.
        inputs: returns the inputs of the layer, without constants.
    """

    step: Callable[[Value], HostStep | None]
    is_join: Callable[[Value], bool]
    inputs: Callable[[Value], Sequence[Value]]


def split_host_steps(tensor: Value, layers: Layers[Value]) -> OutputTail[Value]:
    """Return the longest output tail that consists of host steps.

    The layers must not form a cycle. The tail has at most ``MOST_TENSORS`` tensors, so that a bundle can name them all.
    """
    tail = OutputTail((tensor,), ())
    while (longer := _extended(tail, layers)) is not None and len(longer.tensors) <= MOST_TENSORS:
        tail = longer
    return tail


def _extended(tail: OutputTail[Value], layers: Layers[Value]) -> OutputTail[Value] | None:
    """Return the tail extended by one layer for all its tensors, or None."""
    with_concatenation = _extended_by_concatenation(tail, layers)
    if with_concatenation is not None:
        return with_concatenation
    steps = {layers.step(tensor) for tensor in tail.tensors}
    step = steps.pop() if len(steps) == 1 else None
    if step is None:
        return None
    tensors = tuple(source for tensor in tail.tensors for source in layers.inputs(tensor))
    return OutputTail(tensors, tail.steps if step == NOTHING else (step, *tail.steps))


def _extended_by_concatenation(tail: OutputTail[Value], layers: Layers[Value]) -> OutputTail[Value] | None:
    """Return the tail extended by a concatenation of rows, or by concatenations inside its first step, or None."""
    first_step = tail.steps[0].step if tail.steps else ""
    if not any(layers.is_join(tensor) for tensor in tail.tensors):
        return None
    if len(tail.tensors) > 1 and first_step != CONCATENATE:
        return None
    tensors: list[Value] = []
    for tensor in tail.tensors:
        tensors += layers.inputs(tensor) if layers.is_join(tensor) else [tensor]
    steps = tail.steps if first_step == CONCATENATE else (HostStep(CONCATENATE), *tail.steps)
    return OutputTail(tuple(tensors), steps)


def with_steps(
    name: str, node: str, graph: Sequence[Node], shapes: Mapping[str, Shape], rows: Mapping[str, Shape] | None = None
) -> GraphOutput:
    """Return an output with the host steps at its end split off.

    Args:
        name: of the output.
        node: that computes it.
        graph: all nodes.
        shapes: of their results.
        rows: shapes (rows, columns) of results that a node stores as a map of one row.
    """
    rows = rows or {}
    queries = _Nodes({other.name: other for other in graph}, shapes, rows)
    tail = split_host_steps(node, Layers(queries.step, queries.is_join, queries.inputs))
    if any(len(rows.get(tensor, shapes[tensor])) not in TEXTURE_RANKS for tensor in tail.tensors):
        return GraphOutput(name, (node,))  # rows that host steps do not make: the CPU computes all of them
    return GraphOutput(name, tail.tensors, tail.steps)


class _Nodes:
    """The queries of ``Layers`` for nodes of a graph."""

    def __init__(self, nodes: Mapping[str, Node], shapes: Mapping[str, Shape], rows: Mapping[str, Shape]) -> None:
        self._nodes, self._shapes, self._rows = nodes, shapes, rows

    def inputs(self, name: str) -> Sequence[str]:
        return self._nodes[name].inputs

    def _shape(self, name: str) -> Shape:
        return self._rows.get(name, self._shapes[name])

    def is_join(self, name: str) -> bool:
        node, rank = self._nodes[name], len(self._shapes[name])
        return node.op == "tensor_concat" and len(self._shape(name)) == 2 and node.attrs["axis"] in (rank - 2, -2)

    def step(self, name: str) -> HostStep | None:
        node, shape = self._nodes[name], self._shape(name)
        if len(node.inputs) != 1 or node.weights:
            return None
        source = self._shape(node.inputs[0])
        if node.op == "identity":
            return NOTHING
        if node.op in ("channel_argmax", "tensor_argmax") and len(source) in TEXTURE_RANKS:
            is_along_last_axis = node.op == "channel_argmax" or node.attrs["axis"] in (len(source) - 1, -1)
            return HostStep(ARGMAX) if is_along_last_axis and not node.attrs.get("smallest") else None
        if node.op in ("channel_norm", "vector_norm"):
            has_weights = node.attrs["gamma"] != (1.0,) or node.attrs["beta"] != (0.0,)
            is_plain = node.attrs["kind"] == "unit" and not has_weights and not node.attrs["epsilon"]
            return HostStep(NORMALIZE) if is_plain else None
        if len(shape) != 2:
            return None
        if node.op in ("reshape", "tensor_reshape"):
            return NOTHING if source == shape else HostStep(ROWS, shape[1])
        if node.op in ("activation", "tensor_function") and node.attrs["function"] == SIGMOID:
            return HostStep(SIGMOID)
        is_softmax = node.op == "softmax" or (node.op == "tensor_softmax" and node.attrs["axis"] in (1, -1))
        return HostStep(SOFTMAX) if is_softmax else None


def with_host_steps_marked(
    rows: Mapping[str, LayerStatus], graph: Sequence[Node], nodes: Sequence[str], outputs: Sequence[GraphOutput]
) -> list[LayerStatus]:
    """Return the rows of a report, with the layers in output tails marked as host steps.

    Args:
        rows: by the layer's name, which its first node has.
        graph: all nodes.
        nodes: that compute the outputs, including their tails.
        outputs: of the graph, without their tails.
    """
    by_name, pending, tail = {node.name: node for node in graph}, list(nodes), set[str]()
    tail_layers = {layer for output in outputs for layer in output.layers}
    while pending:
        name = pending.pop()
        if name not in tail_layers and name not in tail:
            tail.add(name)
            pending += by_name[name].inputs
    note = "a host step of an output"
    return [
        replace(row, runs=CPU, operators=(), note=note) if name in tail and row.runs in (CPU, SHADER) else row
        for name, row in rows.items()
    ]
