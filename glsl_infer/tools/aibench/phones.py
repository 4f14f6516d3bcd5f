"""Phones of the paper's table 2 (phones.csv), for a result to stand beside: ms a picture, megapixels, score."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glsl_infer.tools.aibench.tests import LARGEST, TESTS

MISSING = "-"


def read() -> list[dict[str, str]]:
    """Return the phones, the best score first: "phone", "1" to "9", "score"."""
    with Path(__file__).with_name("phones.csv").open(encoding="utf-8", newline="") as file:
        return sorted(csv.DictReader(file), key=lambda row: -float(row["score"]))


def table(name: str, rows: Sequence[Mapping[str, Any]], score: float | None) -> list[str]:
    """Return lines: this machine's results among the phones, the best score first.

    Args:
        name: of this machine.
        rows: of ``glsl-infer aibench``: "test", and "ms", "megapixels" or "failed".
        score: of them; None puts this machine first, without one.
    """
    mine = {"phone": name, "score": f"{score:.0f}" if score is not None else MISSING}
    for row in rows:
        number = int(row["test"])
        value = row.get("megapixels" if number == LARGEST else "ms")
        mine[str(number)] = MISSING if value is None else f"{value:.4g}" if number == LARGEST else f"{value:.0f}"
    others = read()
    at = sum(score is not None and float(row["score"]) > score for row in others)
    heads = ["phone", *(str(test.number) for test in TESTS), "score"]
    cells = [heads, *([row.get(head, MISSING) for head in heads] for row in (*others[:at], mine, *others[at:]))]
    wide = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    return [
        "  ".join(cell.ljust(wide[0]) if not i else cell.rjust(wide[i]) for i, cell in enumerate(row)) for row in cells
    ]
