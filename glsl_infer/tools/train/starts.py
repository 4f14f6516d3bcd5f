"""Networks that a training can start from, and the background of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.support.resources import MODEL_NAMES, model
from glsl_infer.tools.train.features import Start, read_start

STARTS = MODEL_NAMES
"""Bundles in the package. Cross-validation chooses the one for the photographs, and the first of equals."""

DATA = Path(__file__).resolve().parent / "data"
"""Features of images of the train splits of both data sets."""


def starts_of(given: Path | None) -> list[Start]:
    """Return the starts to try: the given one, or all of the package.

    Raises:
        InputError: it cannot be used as a start.
    """
    return [read_start(given)] if given is not None else [read_start(model(name)) for name in STARTS]


def background(start: Start) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return features (images, length) of unknown things, and the group of each; empty for a start of the user."""
    path = DATA / f"{start.name}.npz"
    length = start.length
    if start.name not in STARTS or not path.is_file():
        return np.zeros((0, length)), np.zeros(0, np.int64)
    with np.load(path) as data:
        return data["features"] / 255.0, data["groups"].astype(np.int64)
