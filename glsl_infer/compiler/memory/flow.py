"""Sharing by minimum-cost flow: objects are passed from tensor to tensor, and their growth has a cost.

Every tensor is in the flow network twice. As a receiver it must get one object: a new one for the cost of its size, or
one whose last tensor is no longer alive, for the cost of the growth. As a giver it passes on at most one object.
Receivers of the same size and lifetime (the slices of a layer) are one vertex with a capacity.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.memory.objects import PlannedObjects, Tensor, fitted
from glsl_infer.errors import MissingExtraError

Group = list[Tensor]
"""Tensors of the same sizes and lifetime."""


def share(tensors: Sequence[Tensor], most_larger: int) -> tuple[PlannedObjects, int]:
    """Return the shared objects, and the cost of the flow: sizes of new objects and growth of others.

    Args:
        tensors: all tensors, numbered from 0.
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
    """Return the flow network as a networkx.DiGraph. All demands, capacities and weights are integers.

    Vertices are ``source``, ``sink``, and for each group g (in order of first steps) a giver ("from", g) and
    a receiver ("to", g).
    """
    graph = _networkx().DiGraph()
    count = sum(map(len, groups))
    sizes = _sizes(groups)
    graph.add_node("source", demand=-count)
    graph.add_node("sink", demand=count)
    for index, group in enumerate(groups):
        tensor, copies = group[0], len(group)
        graph.add_edge("source", ("to", index), capacity=copies, weight=tensor.area)
        graph.add_edge("source", ("from", index), capacity=copies, weight=0)
        graph.add_edge(("to", index), "sink", capacity=copies, weight=0)
        dead = [before for before in range(index) if groups[before][0].lifetime[1] < tensor.lifetime[0]]
        for before, both in zip(dead, _areas_of_both(tensor, [sizes[before] for before in dead])):
            others = groups[before]
            other = others[0]
            if most_larger and both > most_larger * min(tensor.area, other.area):
                continue
            growth = max(both - other.area, 0)
            if growth < tensor.area:
                graph.add_edge(("from", before), ("to", index), capacity=min(copies, len(others)), weight=growth)
    return graph


def _sizes(groups: Sequence[Group]) -> list[NDArray[np.int64]]:
    """Return the choices of each group, (choices, axes), with the first repeated to make all counts equal."""
    most = max((len(group[0].choices) for group in groups), default=0)
    every = [group[0].choices for group in groups]
    return [np.array([*choices, *[choices[0]] * (most - len(choices))], np.int64) for choices in every]


def _areas_of_both(tensor: Tensor, others: Sequence[NDArray[np.int64]]) -> list[int]:
    """Return, for each of the others, the least area of an object for it and the given tensor."""
    if not others:
        return []
    own = np.array(tensor.choices, np.int64)
    merged = np.maximum(np.stack(others)[:, :, None], own)  # (others, their choices, own choices, axes)
    areas: list[int] = merged.prod(axis=-1).min(axis=(1, 2)).tolist()
    return areas


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


def _split(chain: list[Tensor], most_larger: int) -> list[list[Tensor]]:
    """Return a chain in parts whose tensors all respect ``most_larger``, since edges limit only pairs of neighbours."""
    parts: list[list[Tensor]] = []
    while chain:
        least = math.prod(fitted(chain)[0]) if most_larger else 0
        small = [tensor for tensor in chain if most_larger * tensor.area < least]
        if len(small) == len(chain):  # Other tensors have made the object too large even for its largest tensor.
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
