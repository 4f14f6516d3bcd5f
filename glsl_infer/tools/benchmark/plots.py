"""Plots of a profile and of a sustained run, and the figures for plots of other modules.

Matplotlib is imported only to draw one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from glsl_infer.errors import MissingExtraError
from glsl_infer.support.files import check_output, output

BLUE, PALE = "#2b6cb0", "#bcd4ee"
DPI = 120


def check(path: Path, *suffixes: str) -> None:
    """Check, before any measurement, that a plot can be written.

    Args:
        path: the file.
        suffixes: accepted suffixes; default: ``.png``.

    Raises:
        InputError: the file has another suffix, is not a regular file, or its folder does not exist.
        MissingExtraError: Matplotlib is not installed.
    """
    check_output(path, *(suffixes or (".png",)), option="--plot")
    figure_of(1, 1)


def profile(result: dict[str, Any], path: Path) -> None:
    """Write a profile as bars: the median of each layer, with a line from the 5th to the 95th percentile.

    Raises:
        InputError: the file cannot be written.
    """
    rows = result["profile"]["layers"]
    figure = figure_of(9.0, 1.2 + 0.19 * len(rows))
    axes = figure.add_subplot()
    positions, medians = range(len(rows)), [row["ms"]["median"] for row in rows]
    spreads = [
        [row["ms"]["median"] - row["ms"]["p5"] for row in rows],
        [row["ms"]["p95"] - row["ms"]["median"] for row in rows],
    ]
    axes.barh(positions, medians, xerr=spreads, color=BLUE, ecolor=PALE, height=0.7)
    axes.set_yticks(positions, [f"{row['layer']}  {100 * row['share']:.1f} %" for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first layer at the top
    axes.set_xlim(left=0)
    axes.set_xlabel(f"ms, median of {result['profile']['runs']} runs, 5 % to 95 %; by {result['profile']['by']}")
    axes.set_title(_title(result), fontsize=9)
    save(figure, path)


def sustained(result: dict[str, Any], path: Path) -> None:
    """Write a sustained run as a line: latency over time, the median and the band from 5 % to 95 %.

    Raises:
        InputError: the file cannot be written.
    """
    windows = result["sustained"]["windows"]
    figure = figure_of(9.0, 4.0)
    axes = figure.add_subplot()
    minutes = [window["from_s"] / 60.0 for window in windows]
    low, median, high = ([window["ms"][key] for window in windows] for key in ("p5", "median", "p95"))
    axes.fill_between(minutes, low, high, color=PALE, label="5 % to 95 %")
    axes.plot(minutes, median, color=BLUE, label="median")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("minutes")
    axes.set_ylabel("ms a frame")
    axes.set_title(_title(result), fontsize=9)
    axes.legend(loc="lower right")
    save(figure, path)


def _title(result: dict[str, Any]) -> str:
    machine = result["machine"]
    # Names come from files and drivers, and Matplotlib would take dollar signs in them as formulas.
    return f"{Path(result['model']['file']).name} on {machine['renderer']}, {machine['cpu']}".replace("$", r"\$")


def figure_of(width: float, height: float) -> Any:
    """Return an empty figure of a size in inches, independent of Matplotlib's global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError.of("Matplotlib", "matplotlib", "--plot") from None
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save(figure: Any, path: Path) -> None:
    """Write a figure in the format of the file's suffix.

    Raises:
        InputError: the file cannot be written.
    """
    with output(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower())
