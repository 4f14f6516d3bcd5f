"""Markdown tables of docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    first, *others = (f"| {' | '.join(row)} |" for row in (head, *rows))
    return "\n".join([first, f"|{'---|' * len(head)}", *others])


def layer_table(layers: dict[str, list[dict[str, Any]]]) -> str:
    """Return the table of layers fed with random values and with those of a photograph, a row for each operator."""
    operators: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for pair in zip(layers["random"], layers["photograph"]):
        operators.setdefault(pair[0]["op"], []).append(pair)
    rows = [
        [
            operator,
            f"{len(pairs)}",
            f"{sum(random['values'] for random, _ in pairs):,}",
            f"{max(random['worst'] for random, _ in pairs):.4f}",
            f"{max(photograph['worst'] for _, photograph in pairs):.4f}",
            f"{sum(photograph['differing'] for _, photograph in pairs):,}",
        ]
        for operator, pairs in operators.items()
    ]
    return table(["operator", "layers", "values", "worst, random", "worst, photograph", "differing"], rows)
