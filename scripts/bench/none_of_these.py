#!/usr/bin/env python3
"""Measure the rules of the answer "none of these" for each model: glsl_infer/runtime/none_of_these.json.

    python scripts/bench/none_of_these.py data/grocery data/trashnet [--unknown DIR ...] [--model NAME ...]

The directions come from images of the train split of a model's data set. 95 % of the val split get a class: a third of
the others have small logits only, and the rest are far from the train split. The script prints the share of images
answered "none of these" in the test split, in the other data set, and in folders with images of other things. Run it
again after a new export of a model.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.runtime.none_of_these import FILE, read, rule
from glsl_infer.runtime.pictures import paths, preprocess
from glsl_infer.runtime.session import Session

MODELS = Path(__file__).resolve().parents[2] / "models"
COVERED = 0.95

IMAGES = 1000
"""Of the train split at most; half of them give nearly the same rule."""

DIRECTIONS = 20
"""At most. docs/engineering/refusals.md has the results of other numbers."""

SPREAD = 0.75
"""Spread of the scaled distances of known images, as a share of that of their energies."""

ZERO, STEPS = "?", 28
"""Character for 0 in a direction, and the most steps from it: all characters are printable and need no escape."""


def main() -> None:
    """Measure the models, print a table, and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", nargs=2, type=Path, metavar="DIR", help="data sets: grocery, then trashnet")
    parser.add_argument("--unknown", nargs="*", default=[], type=Path, metavar="DIR", help="pictures of other things")
    parser.add_argument("--model", nargs="*", default=[], metavar="NAME", help="only these models (default: all)")
    args = parser.parse_args()
    rules = dict(read()["models"])
    for model in sorted(MODELS.glob("*-x22-*.glslnn")):
        if args.model and model.stem not in args.model:
            continue
        own, other = args.data if model.stem.startswith("grocery") else reversed(args.data)
        with Session(model) as session:
            train_logits = _logits(session, own / "train", IMAGES)
            entry = measured(train_logits, _logits(session, own / "val"))
            shares = [
                f"{folder}: {100 * np.mean(_margins(entry, _logits(session, folder)) < 0):.1f} %"
                for folder in (own / "test", other / "test", *args.unknown)
            ]
            stale = [digest for digest, entry in rules.items() if entry["model"] == model.stem]
            for digest in stale:
                del rules[digest]
            rules[session.bundle.digest or ""] = {"model": model.stem, **entry}
        print(f"{model.stem}: logit {entry['logit']}; answered 'none of these': {', '.join(shares)}", flush=True)
    FILE.write_text(json.dumps({"zero": ZERO, "models": dict(sorted(rules.items()))}, indent=1) + "\n", "utf-8")


def measured(train: NDArray[np.float64], val: NDArray[np.float64]) -> dict[str, Any]:
    """Return the entry of a model: directions from logits (images, classes) of known images, the limit from others."""
    mean = float(train.mean())
    count = min(DIRECTIONS, train.shape[1] - 2)
    deviations = train - mean
    variances, axes = np.linalg.eigh(deviations.T @ deviations / len(deviations))
    remaining = variances[:-count].mean()
    directions = axes[:, -count:].T * np.sqrt(1.0 - remaining / variances[-count:])[:, np.newaxis]
    step = float(f"{np.abs(directions).max() / STEPS:.5g}")
    steps = np.rint(directions / step).astype(int)
    record: dict[str, Any] = {
        "least": -1e9,
        "logit": 0.0,
        "scale": 1.0,
        "mean": round(mean, 4),
        "step": step,
        "directions": ["".join(chr(ord(ZERO) + int(number)) for number in row) for row in steps],
    }
    distances = [rule(record, ZERO).distance(row) for row in train]
    record["scale"] = round(float(SPREAD * np.logaddexp.reduce(train, 1).std() / np.std(distances)), 4)
    energies = np.logaddexp.reduce(val, 1)
    least = float(np.quantile(energies, (1.0 - COVERED) / 3.0))
    allowed = (1.0 - COVERED) * len(val) - np.count_nonzero(energies < least)
    others = _margins(record, val)[energies >= least]
    return {**record, "least": round(least, 3), "logit": round(float(np.quantile(others, allowed / len(others))), 3)}


def _margins(record: dict[str, Any], logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much more probable than ``none of these`` all classes together are, as a logit, for each image."""
    none = rule(record, ZERO)
    return np.array([np.logaddexp.reduce(row) - none.logit_of(row) for row in logits])


def _logits(session: Session, folder: Path, limit: int | None = None) -> NDArray[np.float64]:
    """Return the logits (images, classes) of a folder's images, or of about ``limit`` of them at equal distances."""
    model_input = session.bundle.manifest.input
    files = list(paths.find([folder]))
    chosen = files[:: max(len(files) // limit, 1)] if limit else files
    return np.array([session.run(preprocess.load_for(path, model_input)) for path in chosen], np.float64)


if __name__ == "__main__":
    main()
