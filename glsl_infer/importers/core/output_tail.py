"""The output tail of a model as host steps: the last layers of detectors and masks, which are faster on the CPU.

A detector ends in a reshape of maps to rows, a concatenation of the rows, and a sigmoid or a softmax. A mask ends in an
argmax over channels, and an embedding in a vector of length 1. These layers are not imported: the import starts at
their inputs. Softmax and sigmoid of vectors are left to ``compiler.optimize.endings``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from glsl_infer.graph import Graph, GraphOutput, Node, Shape
from glsl_infer.graph.host_steps import ARGMAX, CONCATENATE, NORMALIZE, ROWS, SIGMOID, SOFTMAX, HostStep
from glsl_infer.importers.core.report import CPU, LayerStatus
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
    reached = OutputTail((tensor,), ())
    while (below := _below(reached, layers)) is not None and len(below.tensors) <= MOST_TENSORS:
        reached = below
    return reached


def _below(end: OutputTail[Value], layers: Layers[Value]) -> OutputTail[Value] | None:
    """Return the tail extended by one layer for all its tensors, or None."""
    joined = _joined(end, layers)
    if joined is not None:
        return joined
    steps = {layers.step(tensor) for tensor in end.tensors}
    step = steps.pop() if len(steps) == 1 else None
    if step is None:
        return None
    below = tuple(read for tensor in end.tensors for read in layers.inputs(tensor))
    return OutputTail(below, end.steps if step == NOTHING else (step, *end.steps))


def _joined(end: OutputTail[Value], layers: Layers[Value]) -> OutputTail[Value] | None:
    """Return the tail before a concatenation of rows, including concatenations inside it."""
    last = end.steps[0].step if end.steps else ""
    if not any(layers.is_join(tensor) for tensor in end.tensors) or (len(end.tensors) > 1 and last != CONCATENATE):
        return None
    below = tuple(
        inner for tensor in end.tensors for inner in (layers.inputs(tensor) if layers.is_join(tensor) else [tensor])
    )
    return OutputTail(below, end.steps if last == CONCATENATE else (HostStep(CONCATENATE), *end.steps))


def with_steps(name: str, node: str, graph: Sequence[Node], shapes: Mapping[str, Shape]) -> GraphOutput:
    """Return an output with the host steps at its end split off."""
    queries = _Nodes({each.name: each for each in graph}, shapes)
    reached = split_host_steps(node, Layers(queries.step, queries.is_join, queries.inputs))
    if any(len(shapes[tensor]) not in TEXTURE_RANKS for tensor in reached.tensors):
        return GraphOutput(name, (node,))  # rows that host steps do not make: the CPU computes all of them
    return GraphOutput(name, reached.tensors, reached.steps)


class _Nodes:
    """The queries of ``Layers`` for nodes of a graph."""

    def __init__(self, nodes: Mapping[str, Node], shapes: Mapping[str, Shape]) -> None:
        self._nodes, self._shapes = nodes, shapes

    def inputs(self, name: str) -> Sequence[str]:
        return self._nodes[name].inputs

    def is_join(self, name: str) -> bool:
        node = self._nodes[name]
        return node.op == "tensor_concat" and len(self._shapes[name]) == 2 and node.attrs["axis"] in (0, -2)

    def step(self, name: str) -> HostStep | None:
        node, shape = self._nodes[name], self._shapes[name]
        if len(node.inputs) != 1 or node.weights:
            return None
        given = self._shapes[node.inputs[0]]
        if node.op == "identity":
            return NOTHING
        if node.op in ("channel_argmax", "tensor_argmax") and len(given) == 3:
            last = node.op == "channel_argmax" or node.attrs["axis"] in (2, -1)
            return HostStep(ARGMAX) if last and not node.attrs.get("smallest") else None
        if node.op in ("channel_norm", "vector_norm"):
            plain = node.attrs["kind"] == "unit" and node.attrs["gamma"] == (1.0,) and node.attrs["beta"] == (0.0,)
            return HostStep(NORMALIZE) if plain and not node.attrs["epsilon"] else None
        if len(shape) != 2:
            return None
        if node.op in ("reshape", "tensor_reshape"):
            return NOTHING if given == shape else HostStep(ROWS, shape[1])
        if node.op in ("activation", "tensor_function") and node.attrs["function"] == SIGMOID:
            return HostStep(SIGMOID)
        return HostStep(SOFTMAX) if node.op == "tensor_softmax" and node.attrs["axis"] in (1, -1) else None


def with_ended(
    rows: Mapping[str, LayerStatus], graph: Graph | None, outputs: Sequence[GraphOutput]
) -> list[LayerStatus]:
    """Return the rows of a report, with the layers in output tails marked as host steps."""
    if graph is None:
        return list(rows.values())
    left = {node.name for node in graph.nodes}
    steps = [step.step for output in outputs for step in output.steps]
    made = []
    for row in rows.values():
        gone = row.operators and row.layer not in left and not any(name.startswith(f"{row.layer}-") for name in left)
        if gone and steps and row.runs == CPU:
            made.append(LayerStatus(row.layer, row.kind, row.shape, CPU, note="a host step of an output"))
        else:
            made.append(row)
    return made
