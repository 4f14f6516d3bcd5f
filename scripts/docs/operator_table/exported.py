"""The rows as bundles: a process with Keras exports them to a folder, and one with OpenGL reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError
from glsl_infer.graph.host_steps import softmax
from glsl_infer.program.layout import FeatureMap
from operator_table import ROWS
from operator_table.cost import Cost, cost
from operator_table.row import Row

SCRIPT = Path(__file__).resolve().parents[1] / "operators_keras.py"


@dataclass(frozen=True)
class Exported:
    """One row's files.

    Attributes:
        bundle: its bundle.
        without: bundle of the model without the subject, if the row has one.
        picture: a test image.
        expected: Keras' output for that image.
    """

    row: Row
    bundle: Bundle
    without: Bundle | None
    calibrated: bool
    ends_in_softmax: bool
    picture: NDArray[np.uint8]
    expected: NDArray[np.float32]

    def cost(self) -> Cost:
        """Return the cost of the row."""
        return cost(self.row, self.bundle, self.without, self.calibrated)

    def error(self, output: NDArray[np.float32]) -> float:
        """Return the largest difference from Keras' output, relative to the output's range.

        For a feature map, this is the range of its stored bytes; otherwise it is the range of the expected values.
        """
        (end,) = self.bundle.manifest.outputs
        value = end.values[0]
        expected = softmax(output) if self.ends_in_softmax else output
        if isinstance(value, FeatureMap) and not end.steps:
            width = float(np.abs(value.scale_of).max())
        else:
            width = float(self.expected.max() - self.expected.min())
        return float(np.abs(expected - self.expected).max()) / width


def export(folder: Path, rows: Sequence[Row] = ROWS) -> None:
    """Export rows to a folder, in a separate process, because TensorFlow and Mesa's LLVM cannot share one.

    Raises:
        InputError: the export failed; with the message of the process.
    """
    command = [sys.executable, str(SCRIPT), str(folder), *[row.name for row in rows]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"Keras' side failed: {done.stderr}")


def read(folder: Path) -> dict[str, Exported]:
    """Return the files written by ``export``, by the rows' names."""
    notes = json.loads((folder / "rows.json").read_text("utf-8"))
    rows = {}
    for row in (row for row in ROWS if row.name in notes):
        with np.load(folder / f"{row.name}.npz") as saved:
            picture, expected = saved["picture"], saved["expected"]
        without = None if row.without is None else bundles.read(folder / f"{row.name}.without.glslnn")
        rows[row.name] = Exported(
            row,
            bundles.read(folder / f"{row.name}.glslnn"),
            without,
            notes[row.name]["calibrated"],
            notes[row.name]["softmax"],
            picture,
            expected,
        )
    return rows
