"""The outputs of an ONNX model: the node of each, and its output tail as host steps (``core.output_tail``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.graph import Graph, GraphOutput, Node, Shape
from glsl_infer.graph.host_steps import ARGMAX, NORMALIZE, ROWS, SIGMOID, SOFTMAX, HostStep
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.output_tail import NOTHING, Layers, split_host_steps
from glsl_infer.importers.core.report import CPU, LayerStatus
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.relayout import is_part
from glsl_infer.importers.onnx.view import View

_CHANNELS_LAST = ((2, 3, 1), (1, 2, 3))
"""Axes of maps, for files with channels first and last."""


def ended(view: View, name: str, collected: GraphBuilder) -> View:
    """Return an output as a node in its shape in the bundle: a map, rows, or a vector.

    Maps have channels last, and rows keep the order in which the network computes them, to avoid transpositions.
    """
    nodes = Nodes(collected, name)
    shape = view.shape
    if len(shape) == 4 and shape[0] == 1:
        order = view.order()
        axes = next((axes for axes in _CHANNELS_LAST if order is not None and is_part(order, axes)), (2, 3, 1))
        moved = relayout.ordered(nodes, view, axes)
        held: Shape = tuple(shape[axis] for axis in axes)
        if sum(size > 1 for size in held) < 2 and len(nodes.shape(moved.node)) == 1:
            return moved
        return View(nodes.shaped(moved.node, held), moved.stored, moved.axes)
    simple = relayout.simple(nodes, view)
    order = simple.order() or ()
    own = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
    held = tuple(shape[axis] for axis in order) if len(order) > 1 else own
    if len(shape) == 3 and len(order) < 2 and min(own) == 1:
        held = own
    return View(nodes.shaped(simple.node, held or (1,)), simple.stored, simple.axes)


def with_steps(name: str, node: str, graph: Sequence[Node], shapes: Mapping[str, Shape]) -> GraphOutput:
    """Return an output with the host steps at its end split off."""
    ends = _Ends({each.name: each for each in graph}, shapes)
    reached = split_host_steps(node, Layers(ends.step, ends.is_join, ends.inputs))
    return GraphOutput(name, reached.tensors, reached.steps)


class _Ends:
    """The queries of ``output_tail.Layers`` for nodes."""

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
