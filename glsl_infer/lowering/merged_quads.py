"""Merge quads of one pixel into columns.

A GPU processes 16 pixels of a quad at once, and single pixels waste 15 of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer.program import Pass, Quad

Step = tuple[int, ...]
"""Downward step of each source from a pixel to the next."""


def merged(entry: Pass) -> Pass:
    """Return a pass in which vertically adjacent quads of one pixel are merged if their sources have equal steps."""
    if len(entry.quads) < 2 or any((quad.width, quad.height) != (1, 1) for quad in entry.quads):
        return entry
    ordered = sorted(entry.quads, key=lambda quad: (quad.x, quad.y))
    step = _step(ordered)
    if step is None:
        return entry
    columns: list[list[Quad]] = []
    for quad in ordered:
        if columns and _between(columns[-1][-1], quad) == step:
            columns[-1].append(quad)
        else:
            columns.append([quad])
    sources = tuple(replace(source, stride_y=float(down)) for source, down in zip(entry.sources, step))
    quads = tuple(replace(column[0], height=len(column)) for column in columns)
    return replace(entry, sources=sources, quads=quads)


def _step(ordered: Sequence[Quad]) -> Step | None:
    """Return the first valid step, if any."""
    return next((step for pair in zip(ordered, ordered[1:]) if (step := _between(*pair)) is not None), None)


def _between(upper: Quad, lower: Quad) -> Step | None:
    """Return the step of each source; None if the pixels are not adjacent, or a source moves sideways or up."""
    moves = [(end[0] - start[0], end[1] - start[1]) for start, end in zip(upper.origins, lower.origins)]
    if (lower.x, lower.y) != (upper.x, upper.y + 1) or any(sideways or down < 0 for sideways, down in moves):
        return None
    return tuple(down for _, down in moves)
