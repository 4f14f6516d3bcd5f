"""Results of other devices for comparison: milliseconds an image, megapixels, scores.

phones.csv is table 2 of the paper, 30 phones of 2018. ``--phones`` adds a file of the user.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError, together
from glsl_infer.support.plain_text import aligned
from glsl_infer.tools.aibench.tests import LARGEST, TESTS

MISSING = "-"

NUMBERS = tuple(str(test.number) for test in TESTS)

COLUMNS = ("phone", *NUMBERS, "score")
"""Columns of a file for ``--phones``."""

TABLE_COLUMNS = ("phone", *NUMBERS, "score", "paper")
"""Columns of a table: ``score`` is by the formula of ``score``, ``paper`` is the published one."""


def read(more: Path | None = None) -> list[dict[str, str]]:
    """Return the devices with the columns ``TABLE_COLUMNS``, the best score first.

    Args:
        more: a CSV file of other devices, with ``COLUMNS``; "-" for a missing test.

    Raises:
        InputError: the file cannot be read, or cells are not numeric; all such cells are listed.
    """
    more_rows = [{**row, "paper": MISSING} for row in (_checked(more) if more else [])]
    return sorted([*published(), *more_rows], key=lambda row: -float(row["score"]))


def published() -> list[dict[str, str]]:
    """Return the phones of the paper with the columns ``TABLE_COLUMNS``, in its order."""
    with Path(__file__).with_name("phones.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [{**row, "paper": row["score"], "score": f"{score_of(results_of(row)):.0f}"} for row in rows]


def results_of(row: Mapping[str, str]) -> dict[int, float]:
    """Return the results of a device by the number of the test, without missing ones."""
    return {int(test): float(row[test]) for test in NUMBERS if row[test] != MISSING}


def _checked(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise InputError(f"--phones {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError(
            f"--phones {path}: not a CSV file in UTF-8; export the table as CSV from a spreadsheet"
        ) from None
    if not rows or tuple(rows[0]) != COLUMNS:
        raise InputError(f"--phones {path}: the first line is wrong; it must be {','.join(COLUMNS)}")
    problems = [
        InputError(f"--phones {path}, line {line}: {wrong}")
        for line, row in enumerate(rows[1:], 2)
        if (wrong := _wrong(row))
    ]
    if problems:
        raise together(problems)
    return [dict(zip(COLUMNS, row)) for row in rows[1:]]


def _wrong(row: Sequence[str]) -> str:
    """Return the problem of a line; empty if it is valid."""
    if len(row) != len(COLUMNS):
        return f"{len(row)} cells, not {len(COLUMNS)}"
    cells = [cell for column, cell in zip(COLUMNS[1:], row[1:]) if cell != MISSING or column == "score"]
    bad = [cell for cell in cells if not _is_number(cell)]
    return f"no number: {', '.join(repr(cell) for cell in bad)}" if bad else ""


def _is_number(text: str) -> bool:
    try:
        return 0.0 < float(text) < math.inf
    except ValueError:
        return False


def table(
    name: str, rows: Sequence[Mapping[str, Any]], score: float | None, phone_rows: Sequence[Mapping[str, str]]
) -> list[str]:
    """Return lines of a table of this machine's results and those of other devices, the best score first.

    Args:
        name: name of this machine.
        rows: tests of ``glsl-infer aibench``: "test", and "ms", "megapixels" or "failed".
        score: score of this machine; None lists it first, without a score.
        phone_rows: other devices; see ``read``.
    """
    mine = {"phone": name, "score": f"{score:.0f}" if score is not None else MISSING}
    for row in rows:
        test = int(row["test"])
        value = row.get("megapixels" if test == LARGEST else "ms")
        mine[str(test)] = MISSING if value is None else f"{value:.4g}" if test == LARGEST else f"{value:.0f}"
    rank = sum(score is not None and float(row["score"]) > score for row in phone_rows)
    listed = (*phone_rows[:rank], mine, *phone_rows[rank:])
    cells = [TABLE_COLUMNS, *([row.get(column, MISSING) for column in TABLE_COLUMNS] for row in listed)]
    return aligned(cells)


PIXEL_2 = 1293.0


def score_of(results: Mapping[int, float]) -> float:
    """Return the score.

    Args:
        results: milliseconds an image by the number of the test; megapixels for test 9.
    """
    return PIXEL_2 / len(TESTS) * sum(ratio(test, result) for test, result in results.items())


def ratio(test: int, result: float) -> float:
    """Return the ratio of a result to a Pixel 2's; above 1 is better."""
    reference = {test.number: test.reference for test in TESTS}[test]
    return result / reference if test == LARGEST else reference / result
