"""The third planner of Table 3 of Lee et al., "On-Device Neural Net Inference with Mobile GPUs" (2019).

Objects are passed from tensor to tensor, and their growth has a cost. The cost is the minimum, but it is not the
memory: an object passed from a small tensor to a large one counts as growing even if it was as large before. On 28
networks this planner saved at most 0.23 % over the two greedy ones, so the product does not have it.

Every tensor is in the flow network twice. As a receiver it must get one object: a new one for the cost of its size, or
one whose last tensor is no longer alive, for the cost of the growth. As a giver it passes on at most one object.
Receivers of the same size and lifetime (the slices of a layer) are one vertex with a capacity.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import needs

from glsl_infer.compiler.memory.objects import Plan, PlannedObjects, Tensor

networkx = needs.module("networkx")

Group = list[Tensor]
"""Tensors of the same size and lifetime."""


def plan(sizes: Sequence[int], lifetimes: Sequence[tuple[int, int]]) -> tuple[Plan, int]:
    """Return a plan for tensors with sizes in bytes, and the cost of the flow.

    The cost is the sum of the sizes of new objects and of the growth of others.

    Args:
        sizes: bytes of each tensor.
        lifetimes: first and last step of each, both included.
    """
    groups = _groups([Tensor(index, ((size,),), alive) for index, (size, alive) in enumerate(zip(sizes, lifetimes))])
    graph = network(groups)
    flow = networkx.min_cost_flow(graph)
    cost = sum(count * graph.edges[tail, head]["weight"] for tail in flow for head, count in flow[tail].items())
    return PlannedObjects(_chains(groups, flow)).plan("flow", 1), cost


def network(groups: Sequence[Group]) -> Any:
    """Return the flow network as a networkx.DiGraph. All demands, capacities and weights are integers.

    Vertices are ``source``, ``sink``, and for each group g (in order of first steps) a giver ("from", g) and
    a receiver ("to", g).
    """
    graph = networkx.DiGraph()
    count = sum(map(len, groups))
    graph.add_node("source", demand=-count)
    graph.add_node("sink", demand=count)
    for index, group in enumerate(groups):
        tensor, copies = group[0], len(group)
        graph.add_edge("source", ("to", index), capacity=copies, weight=tensor.area)
        graph.add_edge("source", ("from", index), capacity=copies, weight=0)
        graph.add_edge(("to", index), "sink", capacity=copies, weight=0)
        for before, others in enumerate(groups[:index]):
            growth = max(tensor.area - others[0].area, 0)
            if others[0].lifetime[1] < tensor.lifetime[0] and growth < tensor.area:
                graph.add_edge(("from", before), ("to", index), capacity=min(copies, len(others)), weight=growth)
    return graph


def _groups(tensors: Sequence[Tensor]) -> list[Group]:
    groups_of: dict[object, Group] = defaultdict(list)
    for tensor in tensors:
        groups_of[tensor.choices, tensor.lifetime].append(tensor)
    return sorted(groups_of.values(), key=lambda group: (group[0].lifetime, group[0].index))


def _chains(groups: Sequence[Group], flow: Mapping[Any, Mapping[Any, int]]) -> list[list[Tensor]]:
    """Return the tensors of each object, by following the flow from givers to receivers."""
    objects: list[list[Tensor]] = []
    free: list[list[int]] = []  # for each group, the objects not yet passed on
    for index, group in enumerate(groups):
        got = [
            free[before].pop(0)
            for before in range(index)
            for _ in range(flow.get(("from", before), {}).get(("to", index), 0))
        ]
        for _ in range(len(group) - len(got)):
            got.append(len(objects))
            objects.append([])
        for tensor, number in zip(group, got):
            objects[number].append(tensor)
        free.append(got.copy())
    return objects
