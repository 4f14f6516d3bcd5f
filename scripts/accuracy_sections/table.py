"""Markdown tables of docs/accuracy.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def layer_table(layers: dict[str, list[dict[str, Any]]]) -> str:
    """Return the table of layers fed with random values and with those of a photograph."""
    rows = [
        [
            one["layer"],
            one["op"],
            f"{one['values']:,}",
            f"{one['worst']:.4f}",
            f"{other['worst']:.4f}",
            f"{other['differing']:,}",
        ]
        for one, other in zip(layers["random"], layers["photograph"])
    ]
    return table(["layer", "operator", "values", "worst, random", "worst, photograph", "differing"], rows)
