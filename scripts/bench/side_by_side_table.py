"""The summary and the table of scripts/bench/side_by_side.py."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

FACTS = ("draws", "programs", "jobs", "gl_calls", "activation_bytes")


def difference(mine: np.ndarray, logits: np.ndarray) -> float:
    """Return the largest difference of logits after subtracting their means, which do not affect the label."""
    return float(np.abs((mine - mine.mean()) - (logits - logits.mean())).max())


def summary(
    first: Mapping[str, Any],
    rounds: Sequence[dict[str, list[float]]],
    base: Sequence[dict[str, list[float]]],
    logits: np.ndarray,
) -> dict[str, Any]:
    """Return a contender's results: medians in milliseconds; median, smallest and largest ratio of the rounds.

    Args:
        first: report of its process after the start: ``facts`` and ``logits``.
        rounds: the contender's times.
        base: times of the baseline in the same rounds.
        logits: logits of the baseline.
    """
    numbers: dict[str, Any] = dict(first["facts"])
    for step in rounds[0]:
        numbers[f"{step}_ms"] = statistics.median(time for times in rounds for time in times[step])
        if step in base[0]:
            ratios = [statistics.median(x[step]) / statistics.median(y[step]) for x, y in zip(rounds, base)]
            numbers[f"{step}_ratio"] = spread(ratios)
    mine = np.asarray(first["logits"])
    numbers["same_label"] = bool(mine.argmax() == logits.argmax())
    numbers["logits_off"] = difference(mine, logits)
    return numbers


def spread(ratios: Sequence[float]) -> list[float]:
    """Return the median, the smallest and the largest ratio."""
    return [statistics.median(ratios), min(ratios), max(ratios)]


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """Return the lines of a Markdown table, a row for each contender."""
    lines = [
        "| | draws | programs | jobs | GL calls | activations, MB | frame, ms | ratio | submit, ms | ratio "
        "| first result, ms | ratio |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, numbers in results.items():
        cells = [name, *(f"{numbers[key]:,}" if key in numbers else "-" for key in FACTS[:-1])]
        cells.append(f"{numbers['activation_bytes'] / 1e6:.2f}" if "activation_bytes" in numbers else "-")
        for step in ("total", "submit", "first_result"):
            if f"{step}_ratio" in numbers:
                middle, least, most = numbers[f"{step}_ratio"]
                cells += [f"{numbers[f'{step}_ms']:.2f}", f"{middle:.3f} ({least:.3f} to {most:.3f})"]
            else:
                cells += ["-", "-"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
