"""Text of ``glsl-infer inspect`` for a model to export: a table of its layers."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from glsl_infer.importers.core.report import LayerStatus
    from glsl_infer.tools.inspect.layers import Inspected

WIDE = 118
"""Width of the text in columns."""

LONG = 100
"""Advice of at least this many characters is printed once."""


def lines_of(model: Inspected) -> list[str]:
    """Return the table, then all problems, then the result of an export."""
    from glsl_infer.tools.inspect.layers import NEEDS_PICTURES

    columns = [("layer", "kind", "shape", "runs", "becomes"), *map(_cells, model.rows)]
    widths = [max(len(row[column]) for row in columns) for column in range(4)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]).rstrip() for row in columns]
    counts = ", ".join(f"{count} {place}" for place, count in model.counts.items())
    lines += ["", f"{len(model.rows)} layers: {counts}"]
    if model.problems:
        number = len(model.problems)
        lines += ["", f"{number} problem{'s' * (number > 1)} to solve before it can be exported:"]
        for problem in _without_repeats(model):
            lines += textwrap.wrap(problem, WIDE, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    else:
        lines.append(f"{model.path} can be exported" + (f"; {NEEDS_PICTURES}" if model.needs_pictures else ""))
    return lines


def _without_repeats(model: Inspected) -> list[str]:
    """Return the problems. Advice that was already printed is replaced by the name of its layer."""
    given: dict[str, str] = {}
    texts = []
    for problem in model.problems:
        row = next((row for row in model.rows if row.advice and problem.endswith(row.advice)), None)
        if row is None or len(row.advice) < LONG:
            texts.append(problem)
        elif row.advice in given:
            texts.append(f"{problem.removesuffix(row.advice)}as for layer '{given[row.advice]}'")
        else:
            given[row.advice] = row.layer
            texts.append(problem)
    return texts


def _cells(row: LayerStatus) -> tuple[str, str, str, str, str]:
    shape = "x".join("?" if size is None else str(size) for size in row.shape) or "1"
    becomes = row.problem or row.note or ", ".join(dict.fromkeys(row.operators))
    return row.layer, row.kind, shape, row.runs, textwrap.shorten(becomes, 60, placeholder=" ...")
