#!/usr/bin/env python3
"""Write what ``glsl-infer train`` knows of other people's photographs: features of pictures of the two data sets.

    python scripts/background_features.py data/grocery/train data/trashnet/train

Run it again where a start of ``glsl_infer.tools.train.starts`` was trained or exported anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from glsl_infer.support.resources import model
from glsl_infer.tools.train.features import Extractor, read_start
from glsl_infer.tools.train.photographs import spread
from glsl_infer.tools.train.starts import DATA, STARTS

PICTURES = 600
"""Of each data set at most, about: as many of each class."""

MOST = 25


def main(folders: list[str]) -> None:
    """Write a file for each start."""
    files, groups = [], []
    for folder in map(Path, folders):
        classes = sorted(path for path in folder.iterdir() if path.is_dir())
        each = min(MOST, max(PICTURES // len(classes), 1))
        for path in classes:
            mine = spread(sorted(path.glob("*.jpg")), each)
            files += mine
            groups += [len(set(groups))] * len(mine)
    for name in STARTS:
        with Extractor(read_start(model(name)), files[:: max(len(files) // 8, 1)]) as extractor:
            features = extractor.features(files, 1)[:, 0]
        texels = np.rint(np.clip(features, 0.0, 1.0) * 255.0).astype(np.uint8)
        DATA.mkdir(exist_ok=True)
        np.savez_compressed(DATA / f"{name}.npz", features=texels, groups=np.array(groups, np.uint8))
        print(name, texels.shape)


if __name__ == "__main__":
    main(sys.argv[1:])
