#!/usr/bin/env python3
"""Choose the logit of the answer "none of these" for each model: glsl_infer/runtime/none_of_these.json.

    python scripts/bench/none_of_these.py data/grocery data/trashnet [--unknown DIR ...]

95 % of the val split of a model's data set get a class. The script prints the share of images answered "none of these"
in the test split, in the other data set, and in folders with images of other things. Run it again after a new export of
a model.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from glsl_infer.runtime.none_of_these import FILE
from glsl_infer.runtime.pictures import paths, preprocess
from glsl_infer.runtime.session import Session

MODELS = Path(__file__).resolve().parents[2] / "models"
COVERED = 0.95


def main() -> None:
    """Measure all classifiers, print a table, and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", nargs=2, type=Path, metavar="DIR", help="data sets: grocery, then trashnet")
    parser.add_argument("--unknown", nargs="*", default=[], type=Path, metavar="DIR", help="images of other things")
    args = parser.parse_args()
    logits = {}
    for model in sorted(MODELS.glob("*-x22-*.glslnn")):
        own, other = args.data if model.stem.startswith("grocery") else reversed(args.data)
        with Session(model) as session:
            logit = float(np.quantile(_together(session, [own / "val"]), 1.0 - COVERED))
            digest = session.bundle.digest
            shares = [
                f"{folder}: {100 * np.mean(_together(session, [folder]) < logit):.1f} %"
                for folder in (own / "test", other / "test", *args.unknown)
            ]
        logits[digest] = {"model": model.stem, "logit": round(logit, 3)}
        print(f"{model.stem}: logit {logit:.3f}; answered 'none of these': {', '.join(shares)}", flush=True)
    FILE.write_text(json.dumps({"models": logits}, indent=1) + "\n", "utf-8")


def _together(session: Session, folders: list[Path]) -> NDArray[np.float64]:
    """Return log(sum(exp(logits))) of each picture."""
    entry = session.bundle.manifest.input
    return np.array(
        [np.logaddexp.reduce(session.run(preprocess.load_for(path, entry))) for path in paths.find(folders)]
    )


if __name__ == "__main__":
    main()
