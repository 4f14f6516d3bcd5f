"""Images of a card: learning curves and confusion matrix, as small PNG files.

An image has a checksum of its data in the text chunk ``data``, so that a check does not depend on Matplotlib or its
version.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from glsl_infer.errors import MissingExtraError
from training.cards.sources import Evaluation

DRAWN = 1
"""Version of the drawing, which changes the checksums."""

COLOURS = 256
DPI = 100
FRAME = "#c8553d"
LINES = {"train, augmented": "#3b6ea5", "val": "#c8553d", "val, averaged weights": "#6a994e"}


def shown(data: Any) -> str:
    """Return the checksum for the text chunk of an image of ``data``."""
    return hashlib.sha256(json.dumps([DRAWN, data], sort_keys=True).encode()).hexdigest()


def shows(path: Path) -> str | None:
    """Return the checksum in the text chunk of an image; None if it does not exist."""
    try:
        with Image.open(path) as image:
            checksum = image.info.get("data")
    except (OSError, ValueError):
        return None
    return checksum if isinstance(checksum, str) else None


def curves_data(runs: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the data of ``curves``: name and history of each run."""
    keys = ("epoch", "loss", "val_loss", "val_loss_average", "accuracy", "val_accuracy", "val_accuracy_average")
    return [[run["name"], [[epoch.get(key) for key in keys] for epoch in run["history"]]] for run in runs]


def curves(runs: Sequence[dict[str, Any]]) -> bytes:
    """Draw loss and accuracy over the epochs of all runs, concatenated. Curves connect the validated epochs.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    figure = _figure(9.0, 3.4)
    left, right = figure.subplots(1, 2)
    start, marks = 0, []
    data = curves_data(runs)
    for _, entries in data:
        rows = np.array([[np.nan if value is None else float(value) for value in epoch] for epoch in entries])
        for axes, first, factor in ((left, 1, 1.0), (right, 4, 100.0)):
            for column, (name, colour) in enumerate(LINES.items(), start=first):
                has_value = np.isfinite(rows[:, column])
                if not has_value.any():
                    continue
                label = None if name in axes.get_legend_handles_labels()[1] else name
                axes.plot(
                    start + rows[has_value, 0], factor * rows[has_value, column], color=colour, lw=1.1, label=label
                )
        start += int(rows[:, 0].max())
        marks.append(start)
    for axes, title in ((left, "loss"), (right, "top-1 accuracy, %")):
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("epoch", fontsize=9)
        axes.tick_params(labelsize=8)
        axes.grid(color="#dddddd", lw=0.6)
        axes.set_xlim(0, start)
        for mark in marks[:-1]:
            axes.axvline(mark, color="#888888", lw=0.8, ls="--")
        axes.legend(fontsize=8, frameon=False)
    return _png(figure, data)


def confusion_order(labels: Sequence[str], coarse: Sequence[str] | None) -> list[int]:
    """Return the order of the labels in the matrix: by coarse class if available."""
    return sorted(range(len(labels)), key=lambda i: (coarse[i], labels[i])) if coarse else list(range(len(labels)))


def confusion_data(evaluation: Evaluation, engine: str) -> list[Any]:
    """Return the data of ``confusion``: labels, their coarse classes or None, and the nonzero counts."""
    return [evaluation["labels"], evaluation["coarse_labels"], evaluation["results"][engine]["confusion"]]


def confusion(evaluation: Evaluation, engine: str) -> bytes:
    """Draw the confusion matrix: for each class, the share of its images with each first label; coarse classes framed.

    Raises:
        MissingExtraError: Matplotlib is not installed.
    """
    labels, coarse, counts = data = confusion_data(evaluation, engine)
    order = confusion_order(labels, coarse)
    matrix = np.array([[counts.get(labels[i], {}).get(labels[j], 0) for j in order] for i in order], np.float64)
    totals = matrix.sum(axis=1, keepdims=True)
    share = np.divide(matrix, totals, out=np.zeros_like(matrix), where=totals > 0)
    is_large = len(labels) > 20
    cell = 0.135 if is_large else 0.5
    margin = (0.062 if is_large else 0.08) * max(len(label) for label in labels) + 0.35
    side = cell * len(labels)
    figure = _figure(side + margin + 0.15, side + margin + 0.15)
    width, height = figure.get_size_inches()
    axes = figure.add_axes((margin / width, 0.1 / height, side / width, side / height))
    axes.imshow(np.sqrt(share), cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    names = [labels[i] for i in order]
    size = 7 if is_large else 9
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=size)
    axes.set_yticks(range(len(names)), names, fontsize=size)
    axes.set_xlabel("first label", fontsize=9)
    axes.set_ylabel("class of the picture", fontsize=9)
    axes.tick_params(length=0, pad=2)
    _write_counts(axes, matrix, share, size)
    if coarse:
        _frame_coarse(axes, [coarse[i] for i in order])
    return _png(figure, data)


def _write_counts(axes: Any, matrix: NDArray[np.float64], share: NDArray[np.float64], size: int) -> None:
    for i, j in zip(*np.nonzero(matrix)):
        colour = "white" if np.sqrt(share[i, j]) > 0.6 else "#333333"
        axes.text(j, i, f"{int(matrix[i, j])}", ha="center", va="center", fontsize=size - 1, color=colour)


def _frame_coarse(axes: Any, groups: Sequence[str]) -> None:
    from matplotlib.patches import Rectangle

    starts = [i for i in range(len(groups)) if not i or groups[i] != groups[i - 1]]
    for first, end in zip(starts, [*starts[1:], len(groups)]):
        corner, side = (first - 0.5, first - 0.5), end - first
        axes.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=FRAME, lw=0.8))


def _figure(width: float, height: float) -> Any:
    """Return an empty figure of this size in inches, independent of Matplotlib's global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError.of("Matplotlib", "matplotlib", "drawing a card's images") from None
    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Any, data: Any) -> bytes:
    """Return the figure as a PNG with 256 colours and the checksum of its data."""
    if len(figure.axes) > 1:
        figure.tight_layout()
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    image = Image.fromarray(np.ascontiguousarray(pixels)).quantize(COLOURS, dither=Image.Dither.NONE)
    info = PngImagePlugin.PngInfo()
    info.add_text("data", shown(data))
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True, pnginfo=info)
    return buffer.getvalue()
