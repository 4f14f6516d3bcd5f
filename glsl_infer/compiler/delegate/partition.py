"""Which nodes form a part: as few parts as possible, which take turns between GPU and CPU.

As TensorFlow Lite's delegates do: a part takes every node of its kind whose inputs are there, then the other kind's
turn comes. Either kind may begin; what makes fewer parts is taken.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from glsl_infer import ops
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.operator import ViewOperator


@dataclass(frozen=True)
class Part:
    """Nodes that are computed together, in the graph's order.

    Attributes:
        on_cpu: whether NumPy computes them; else a program of shaders.
        nodes: their names.
    """

    on_cpu: bool
    nodes: tuple[str, ...]


def anchored(graph: Graph) -> Graph:
    """Return the graph whose constants read its first input, as parts need: each reads something."""
    first = graph.inputs[0].name
    return graph.rebuilt(
        replace(node, inputs=node.inputs or (first,)) if _is_constant(node) else node for node in graph.nodes
    )


def _is_constant(node: Node) -> bool:
    return ops.get(node.op).is_constant


def partition(graph: Graph, on_cpu: Collection[str]) -> tuple[Part, ...]:
    """Cut an optimised graph into parts, in the order in which they run.

    Args:
        graph: the graph.
        on_cpu: the nodes that the CPU computes. Nodes between CPU parts that have no weights, or only scale, join them:
            a round trip costs more than they do.
    """
    chosen = set(on_cpu)
    while True:
        parts = _fewest(graph, chosen)
        light = [part for part in parts if not part.on_cpu and not _worth_a_trip(graph, part)]
        if not light or all(part.on_cpu or part in light for part in parts):
            return parts
        chosen.update(light[0].nodes)


def _fewest(graph: Graph, on_cpu: Collection[str]) -> tuple[Part, ...]:
    gpu_first, cpu_first = _taking_turns(graph, on_cpu, first=False), _taking_turns(graph, on_cpu, first=True)
    return cpu_first if len(cpu_first) < len(gpu_first) else gpu_first


def _taking_turns(graph: Graph, on_cpu: Collection[str], *, first: bool) -> tuple[Part, ...]:
    there = {node.name for node in graph.inputs}
    waiting = {node.name for node in graph.nodes if _is_constant(node)}  # for the first that reads them
    left = [node for node in graph.nodes if node.name not in there | waiting]
    parts: list[Part] = []
    side = first
    while left:
        taken = []
        for node in left:
            if (node.name in on_cpu) == side and (there | waiting).issuperset(node.inputs):
                own = [name for name in dict.fromkeys(node.inputs) if name in waiting]
                taken += [*own, node.name]
                there.update(taken)
                waiting.difference_update(own)
        if taken:
            parts.append(Part(side, tuple(taken)))
            left = [node for node in left if node.name not in there]
        side = not side
    return tuple(parts)


def _worth_a_trip(graph: Graph, part: Part) -> bool:
    """Return whether a GPU part draws, and reads an input of the network or adds up products with weights."""
    nodes = [node for name in part.nodes if not _is_constant(node := graph.by_name[name])]
    if all(isinstance(ops.get(node.op), ViewOperator) for node in nodes):
        return False
    given = {node.name for node in graph.inputs}
    return any(_adds_up(node) or given & set(node.inputs) for node in nodes)


def _adds_up(node: Node) -> bool:
    """Return whether a node has weights, and more than one for each number that it makes: else it only scales."""
    operator, kernel = ops.get(node.op), node.weights.get("kernel")
    scales = kernel is not None and kernel.ndim == 4 and math.prod(kernel.shape[:3]) == 1
    return (operator.has_kernel or operator.convolves) and not scales


def reads(graph: Graph, part: Part) -> tuple[str, ...]:
    """Return the nodes outside of a part that it reads, in the graph's order."""
    inside = set(part.nodes)
    wanted = {name for inner in part.nodes for name in graph.by_name[inner].inputs} - inside
    return tuple(node.name for node in graph.nodes if node.name in wanted)


def makes(graph: Graph, part: Part) -> tuple[str, ...]:
    """Return the nodes of a part that other parts read, or outputs of the network."""
    inside, ends = set(part.nodes), set(graph.output_layers)
    return tuple(
        name
        for name in part.nodes
        if name in ends or any(reader.name not in inside for reader in graph.consumers[name])
    )
