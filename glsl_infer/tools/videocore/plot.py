"""Bar chart of a frame's instructions by layer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glsl_infer.tools.benchmark import plots
from glsl_infer.tools.videocore.report import Report
from glsl_infer.tools.videocore.table import names


def check(path: Path) -> None:
    """Check, before any measurement, that a plot can be written; errors as for ``plots.check``."""
    plots.check(path, ".png", ".svg", ".pdf")


def plot(reports: Sequence[Report], path: Path) -> None:
    """Draw a bar for each layer and bundle, in million instructions times pixels, with a mark at the floor.

    Raises:
        InputError: the file cannot be written.
    """
    layers = list(dict.fromkeys(row.layer for report in reports for row in report.rows))
    figure = plots.figure_of(9.0, 1.5 + 0.22 * len(layers) * max(1, len(reports)))
    axes = figure.add_subplot()
    thickness = 0.8 / len(reports)
    for index, (name, report) in enumerate(zip(names(reports), reports)):
        rows = {row.layer: row for row in report.rows}
        positions = [layers.index(layer) + (index - (len(reports) - 1) / 2) * thickness for layer in rows]
        axes.barh(
            positions, [row.total / 1e6 for row in rows.values()], thickness, label=f"{name}: {report.total / 1e6:.1f}"
        )
        floors = [(y, row.least_total / 1e6) for y, row in zip(positions, rows.values()) if row.least_total]
        axes.vlines(
            [x for _, x in floors],
            [y - thickness / 2 for y, _ in floors],
            [y + thickness / 2 for y, _ in floors],
            colors="black",
            label="floor" if index == 0 and floors else "_",
        )
    axes.set_yticks(range(len(layers)), layers)
    axes.invert_yaxis()
    axes.set_xlabel("QPU instructions times pixels, million a frame")
    axes.legend()
    plots.save(figure, path)
