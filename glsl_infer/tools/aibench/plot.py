"""A picture of a run: each test as a bar, beside a Pixel 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glsl_infer.tools.aibench.score import ratio
from glsl_infer.tools.benchmark.plots import BLUE, check, figure_of, save

__all__ = ["bars", "check"]


def bars(result: dict[str, Any], path: Path) -> None:
    """Write how many times as good as a Pixel 2 each test was, on a logarithmic scale.

    Raises:
        InputError: the file cannot be written.
    """
    rows = [row for row in result["tests"] if "failed" not in row]
    figure = figure_of(8.0, 1.2 + 0.35 * len(rows))
    axes = figure.add_subplot()
    ratios = [max(ratio(row["test"], row.get("ms", row.get("megapixels"))), 1e-3) for row in rows]
    axes.barh(range(len(rows)), ratios, color=BLUE, height=0.7)
    axes.set_yticks(range(len(rows)), [f"{row['test']} {row['task']}, {row['network']}" for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first test at the top
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set_xlabel("times as good as a Pixel 2")
    axes.set_title(str(result["machine"].get("renderer", "")).replace("$", r"\$"), fontsize=9)
    save(figure, path)
