"""Markdown tables of the documents."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    first, *lines = (" | ".join(row) if row[0] and row[-1] else f"| {' | '.join(row)} |" for row in (head, *rows))
    return "\n".join([first, f"|{'---|' * len(head)}", *lines])
