"""Plot of a run: each test as a bar starting at the result of a Pixel 2, and the paper's phones as dots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glsl_infer.tools.aibench import phones
from glsl_infer.tools.aibench.phones import ratio
from glsl_infer.tools.benchmark.plots import BLUE, check, figure_of, save

__all__ = ["check", "plot_results"]  # the command checks the path before the run

_SHORTEST_BAR = 0.01
"""Smallest visible bar, because a result can be 0."""

_MARGIN = 0.2
"""Share of the width for labels at the ends of the longest bars."""


def plot_results(result: dict[str, Any], path: Path) -> None:
    """Write each test's ratio to a Pixel 2 as a bar on a logarithmic scale, with the 30 phones as dots.

    A failed test has no bar. Images of a quick run are smaller than a Pixel 2's; the title mentions this.

    Raises:
        InputError: the file cannot be written.
    """
    rows = result["tests"]
    figure = figure_of(8.0, 1.2 + 0.35 * len(rows))
    axes = figure.add_subplot()
    # a bar begins at 1.0, so that of a failed test has no length
    ratios = [1.0 if "failed" in row else max(ratio(row["test"], _result_value(row)), _SHORTEST_BAR) for row in rows]
    axes.barh(range(len(rows)), [row_ratio - 1.0 for row_ratio in ratios], left=1.0, color=BLUE, height=0.7)
    _annotate(axes, rows, ratios)
    phone_ratios = [
        [ratio(row["test"], phones.results_of(phone)[row["test"]]) for phone in phones.published()] for row in rows
    ]
    for position, dots in enumerate(phone_ratios):
        axes.plot(dots, [position] * len(dots), ".", color="black", alpha=0.35, markersize=4, linestyle="none")
    axes.set_yticks(range(len(rows)), [f"{row['test']} {row['task']}, {row['network']}" for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first test at the top
    axes.set_xscale("log")
    _set_limits(axes, [*ratios, *(phone_ratio for dots in phone_ratios for phone_ratio in dots)])
    axes.tick_params(axis="x", which="both", labelsize=8)
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("times as good as a Pixel 2; dots: the 30 phones of the paper")
    small = "small images; " if result["quick"] else ""
    axes.set_title(small + str(result["machine"].get("renderer", "")).replace("$", r"\$"), fontsize=9)
    save(figure, path)


def _annotate(axes: Any, rows: list[dict[str, Any]], ratios: list[float]) -> None:
    """Write each result at the end of its bar."""
    for position, (row, row_ratio) in enumerate(zip(rows, ratios)):
        axes.annotate(
            _bar_label(row), (row_ratio, position), (3 if row_ratio >= 1.0 else -3, 0), textcoords="offset points",
            fontsize=8, ha="left" if row_ratio >= 1.0 else "right", va="center",
        )  # fmt: skip


def _set_limits(axes: Any, ratios: list[float]) -> None:
    """Set the ends of the logarithmic axis, with a margin for labels. Minor ticks have numbers if they have space."""
    low, high = min(0.5, *ratios), max(2.0, *ratios)
    margin = (high / low) ** _MARGIN
    axes.set_xlim(low / margin, high * margin)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}" if high * margin < 30.0 * low / margin else "")


def _result_value(row: dict[str, Any]) -> float:
    return float(row["ms"] if "ms" in row else row["megapixels"])


def _bar_label(row: dict[str, Any]) -> str:
    if "failed" in row:
        return "failed"
    return f"{row['ms']:,.0f} ms" if "ms" in row else f"{row['megapixels']:g} megapixels"
