"""Rectangles of one pixel that are a column of them, drawn as one: a GPU takes 16 pixels at once, of one rectangle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer.program import Pass, Quad

Step = tuple[int, ...]
"""How far down each source moves from a pixel to the one below."""


def merged(entry: Pass) -> Pass:
    """Return a pass whose quads of one pixel below each other are one, where its sources move evenly along them."""
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
    """Return the first even step, if there is any."""
    return next((step for pair in zip(ordered, ordered[1:]) if (step := _between(*pair)) is not None), None)


def _between(upper: Quad, lower: Quad) -> Step | None:
    """Return how far down sources move; None if pixels are not below each other, or a source moves aside or up."""
    moves = [(to[0] - start[0], to[1] - start[1]) for start, to in zip(upper.origins, lower.origins)]
    if (lower.x, lower.y) != (upper.x, upper.y + 1) or any(aside or down < 0 for aside, down in moves):
        return None
    return tuple(down for _, down in moves)
