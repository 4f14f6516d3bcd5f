"""Sharing as a flow of least cost: objects are handed on from tensor to tensor, and growing costs.

Every tensor is twice in the network. As a receiver it must get one object: a new one for its size, or that of a tensor
which is dead by then, for as much as the tensor is larger than that one. As a giver it hands on one object at most.
Receivers of the same size and lifetime (the slices of a layer) are one vertex with a capacity.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from glsl_infer.compiler.memory.objects import PlannedObjects, Tensor, fitted, within
from glsl_infer.errors import MissingExtraError

Group = list[Tensor]
"""Tensors of the same sizes and lifetime."""


def share(tensors: Sequence[Tensor], most_larger: int) -> tuple[PlannedObjects, int]:
    """Return the objects that tensors share, and the cost of the flow: sizes of new objects, and what others grow.

    Args:
        tensors: all of them, numbered from 0.
        most_larger: see ``memory.plan_textures``.

    Raises:
        MissingExtraError: networkx is not installed.
    """
    groups = _groups(tensors)
    graph = network(groups, most_larger)
    flow = _networkx().min_cost_flow(graph)
    cost = sum(count * graph.edges[tail, head]["weight"] for tail in flow for head, count in flow[tail].items())
    return PlannedObjects([part for chain in _chains(groups, flow) for part in _split(chain, most_larger)]), cost


def network(groups: Sequence[Group], most_larger: int) -> Any:
    """Return the networkx.DiGraph whose flow of least cost is wanted, with whole numbers throughout.

    Vertices are ``source``, ``sink``, and for each group g (in order of first steps) a giver ("from", g) and
    a receiver ("to", g).
    """
    graph = _networkx().DiGraph()
    count = sum(map(len, groups))
    graph.add_node("source", demand=-count)
    graph.add_node("sink", demand=count)
    for index, group in enumerate(groups):
        tensor, copies = group[0], len(group)
        graph.add_edge("source", ("to", index), capacity=copies, weight=tensor.area)
        graph.add_edge("source", ("from", index), capacity=copies, weight=0)
        graph.add_edge(("to", index), "sink", capacity=copies, weight=0)
        for before, others in enumerate(groups[:index]):
            other = others[0]
            if other.lifetime[1] >= tensor.lifetime[0]:
                continue
            both = min(math.prod(within(size, tensor.choices)[0]) for size in other.choices)
            if most_larger and both > most_larger * min(tensor.area, other.area):
                continue
            growth = max(both - other.area, 0)
            if growth < tensor.area:
                graph.add_edge(("from", before), ("to", index), capacity=min(copies, len(others)), weight=growth)
    return graph


def _groups(tensors: Sequence[Tensor]) -> list[Group]:
    groups_of: dict[object, Group] = defaultdict(list)
    for tensor in tensors:
        groups_of[tensor.choices, tensor.lifetime].append(tensor)
    return sorted(groups_of.values(), key=lambda group: (group[0].lifetime, group[0].index))


def _chains(groups: Sequence[Group], flow: Mapping[Any, Mapping[Any, int]]) -> list[list[Tensor]]:
    """Return the tensors of each object by following who hands on to whom."""
    objects: list[list[Tensor]] = []
    free: list[list[int]] = []  # for each group, the objects that it can still hand on
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


def _split(chain: list[Tensor], most_larger: int) -> list[list[Tensor]]:
    """Return a chain in parts of which no tensor is too small for its object; edges hold only for neighbours."""
    parts: list[list[Tensor]] = []
    while chain:
        least = math.prod(fitted(chain)[0]) if most_larger else 0
        small = [tensor for tensor in chain if most_larger * tensor.area < least]
        if len(small) == len(chain):  # even the largest one, in a texture that others made larger
            small = [tensor for tensor in chain if tensor is not max(chain, key=lambda other: other.area)]
        parts.append([tensor for tensor in chain if tensor not in small])
        chain = small
    return parts


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError.of("networkx", "networkx", "planning memory by minimum-cost flow") from None
    return networkx
