"""Optimisation steps for the ends of networks: what the CPU does better, once, after the last pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import SIGMOID, SOFTMAX, HostStep
from glsl_infer.graph.purposes import VALUES


def peel_endings(graph: Graph) -> Graph:
    """Make host steps of softmaxes that outputs end in, and of sigmoids of vectors.

    The only output of a network loses its softmax: runners return logits. A sigmoid of a map stays in the shader that
    makes the map: it costs nothing there and has its range by nature.
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
    """Return the host step that all layers of an output are; empty where they are none, or not the same."""
    steps = {_step(graph, graph.by_name[layer]) for layer in output.layers}
    return steps.pop() if len(steps) == 1 else ""


def _step(graph: Graph, node: Node) -> str:
    step = ops.get(node.op).host_step(node)
    return "" if step == SIGMOID and len(graph.shapes[node.name]) != 1 else step


def _without_unread(graph: Graph, outputs: Sequence[GraphOutput]) -> Graph:
    """Return the graph with other outputs, and without nodes that nothing reads any more; inputs stay."""
    read = {layer for output in outputs for layer in output.layers}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in read or node.operator.is_input:
            read.update(node.inputs)
            kept.append(node)
    return Graph(graph.name, reversed(kept), outputs)
