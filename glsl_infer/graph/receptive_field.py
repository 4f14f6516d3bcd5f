"""How far a network looks around: which pixels of its picture a pixel of its output depends on.

So pictures can be cut into tiles that leave no seam.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glsl_infer.graph.network import Graph
    from glsl_infer.graph.operators import Reach


_TINY = 1e-6


@dataclass(frozen=True)
class Around:
    """What a network sees of a picture.

    Attributes:
        pixels: how many beyond one, to every side, its output there may depend on.
        step: by how many a picture may be moved so that its output moves with it: more than 1 where strides are.
    """

    pixels: int
    step: int


def around(graph: Graph) -> Around | None:
    """Return how far a network with one input and one output looks; None if at the whole picture, or nobody knows."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1 or len(graph.outputs[0].layers) != 1:
        return None
    (start,) = graph.inputs
    seen: dict[str, tuple[Reach, Reach]] = {}
    steps = [1.0]
    for node in graph.nodes:
        reads = node.operator.reads(node)
        before = [seen.get(name) for name in node.inputs]
        if reads is None or any(one is None for one in before) or (not before and node is not start):
            continue
        axes = [_joined(reads[axis], [one[axis] for one in before if one is not None]) for axis in range(2)]
        if axes[0] is None or axes[1] is None:
            continue
        seen[node.name] = (axes[0], axes[1])
        steps += [axis[0] for axis in seen[node.name]]
    (last,) = graph.outputs[0].layers
    if last not in seen or any(step >= 1.0 and step != round(step) for step in steps):
        return None
    most = 0
    for step, first, end in seen[last]:  # pixels of the output that a pixel becomes lie at 0 to 1 - step
        most = max(most, -math.ceil(first - _TINY), math.floor(end + 1.0 - step + _TINY))
    return Around(most, math.lcm(*(round(step) for step in steps if step >= 1.0)))


def _joined(reads: Reach, before: Sequence[Reach]) -> Reach | None:
    """Return what is read of the picture through inputs; None where they lie differently in it."""
    step, first, last = reads
    if not before:
        return reads
    if any(abs(one[0] - before[0][0]) > 1e-9 for one in before):
        return None
    size = before[0][0]
    return step * size, min(one[1] for one in before) + size * first, max(one[2] for one in before) + size * last
