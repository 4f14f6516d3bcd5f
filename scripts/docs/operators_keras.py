#!/usr/bin/env python3
"""Keras' part of scripts/docs/operators.py: every row's model exported, and Keras' output for an image.

Runs in its own process, because TensorFlow and Mesa's LLVM cannot share one (glsl_infer/support/llvm_clash.py). Writes
ROW.glslnn, ROW.without.glslnn for rows with such a model, ROW.npz (picture, expected), and rows.json.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
from operator_table import ROWS, models
from operator_table.row import Build, Row

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.importers.keras import to_graph


def export(row: Row, folder: Path) -> dict[str, bool]:
    """Write one row's files; return its entry of rows.json."""
    model = models.row_model(row)
    graph = to_graph(model, row.input_range)
    picture, *calibration_images = models.pictures(row)
    bundle, calibrated = models.bundle_of(graph, calibration_images)
    bundles.write(bundle, folder / f"{row.name}.glslnn")
    if row.without is not None:
        bundles.write(without(row.without, row.size, row.channels), folder / f"{row.name}.without.glslnn")
    np.savez(folder / f"{row.name}.npz", picture=picture, expected=models.expected(row, model, picture))
    return {"calibrated": calibrated, "softmax": models.ends_in_softmax(graph)}


@cache
def without(build: Build, size: int, channels: int) -> Bundle:
    """Return the bundle of a model without the subject, which several rows have in common."""
    shape = (size, size, channels)
    graph = to_graph(models.model_of(build, shape))
    return models.bundle_of(graph, [np.full(shape, value, np.uint8) for value in (0, 255)])[0]


def main() -> int:
    """Export the rows of the given names, by default all, to the given folder."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    notes = {row.name: export(row, folder) for row in ROWS if not names or row.name in names}
    (folder / "rows.json").write_text(json.dumps(notes), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
