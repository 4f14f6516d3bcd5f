"""Optimisation step for the outputs of networks: their last operators become host steps, which run once on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import SIGMOID, SOFTMAX, HostStep
from glsl_infer.graph.purposes import VALUES


def peel_endings(graph: Graph) -> Graph:
    """Turn softmaxes at the end of outputs, and sigmoids of vectors, into host steps.

    The softmax of a network's only output is removed, because runners return logits, unless the output's purpose is
    plain values or a host step follows. A sigmoid of a map stays in the shader of the map: it costs nothing there, and
    it implies the range.
    """
    outputs = []
    for output in graph.outputs:
        peeled = output
        while step := _last_step(graph, peeled):
            below = tuple(graph.by_name[layer].inputs[0] for layer in peeled.layers)
            dropped = step == SOFTMAX and len(graph.outputs) == 1 and not peeled.steps and peeled.purpose != VALUES
            steps = peeled.steps if dropped else (HostStep(step), *peeled.steps)
            peeled = replace(peeled, layers=below, steps=steps)
        outputs.append(peeled)
    return _without_unread(graph, outputs) if tuple(outputs) != graph.outputs else graph


def _last_step(graph: Graph, output: GraphOutput) -> str:
    """Return the common host step of an output's layers; empty if they have none, or different ones."""
    steps = {_step(graph, graph.by_name[layer]) for layer in output.layers}
    return steps.pop() if len(steps) == 1 else ""


def _step(graph: Graph, node: Node) -> str:
    step = ops.get(node.op).host_step(node)
    return "" if step == SIGMOID and len(graph.shapes[node.name]) != 1 else step


def _without_unread(graph: Graph, outputs: Sequence[GraphOutput]) -> Graph:
    """Return the graph with other outputs, and without unread nodes; inputs stay."""
    read = {layer for output in outputs for layer in output.layers}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in read or node.operator.is_input:
            read.update(node.inputs)
            kept.append(node)
    return Graph(graph.name, reversed(kept), outputs)
