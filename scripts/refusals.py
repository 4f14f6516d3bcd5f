#!/usr/bin/env python3
"""Measure the refusals of ``glsl-infer train`` for pairs of classes of a data set: a table of refusals.md.

    python scripts/refusals.py trashnet-x22-257 data/trashnet paper,glass,cardboard,metal data/trashnet data/grocery
    python scripts/refusals.py grocery-x22-257 data/grocery Banana,Carrots,Kiwi data/grocery data/trashnet

Arguments are the network to start from, the data set, its classes (every two are a pair), and the data sets whose test
images are unknown. Each pair learns from 30 photographs of a class, in 3 variations. The last line is the mean. Runs
for minutes.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from glsl_infer.support.resources import model
from glsl_infer.tools.train import head as heads
from glsl_infer.tools.train.features import Extractor, background, read_start
from glsl_infer.tools.train.head import Examples, Head, Numbers
from glsl_infer.tools.train.photographs import spread

LEARNT, VARIED, TESTED, UNKNOWN = 30, 3, 35, 138
"""Photographs of a class to train with, their variations, and to test with; unknown images of a data set, about."""


def pictures(folder: Path, most: int) -> list[Path]:
    """Return at most ``most`` images of a class, spread over its folder."""
    return spread(sorted(folder.glob("*.jpg")), most)


def refused(head: Head, features: Numbers) -> float:
    """Return the share of images classified as none of the classes."""
    return float((head.logits(features).argmax(axis=-1) == head.bias.size - 1).mean())


def shares(head: Head, known: list[Numbers], unknown: Mapping[str, Numbers]) -> dict[str, float]:
    """Return the shares of known images that are right or refused, and of each data set's unknown images refused."""
    right = np.mean([(head.logits(each).argmax(axis=-1) == index).mean() for index, each in enumerate(known)])
    others = {f"other {name}": refused(head, each) for name, each in unknown.items()}
    return {"right": float(right), "refused: known": refused(head, np.concatenate(known)), **others}


def line(name: str, found: Mapping[str, float]) -> str:
    """Return a line of text with shares."""
    return f"{name}: " + ", ".join(f"{key} {100 * share:.0f} %" for key, share in found.items())


def main(name: str, folder: str, classes: str, *others: str) -> None:
    """Print a line for each pair, and the mean."""
    start, labels = read_start(model(name)), classes.split(",")
    typical = [path for label in labels for path in pictures(Path(folder, "train", label), 4)]
    with Extractor(start, typical) as extractor:

        def features(files: list[Path], varied: int = 1) -> Numbers:
            return extractor.features(files, varied).astype(np.float64)

        learnt = {label: features(pictures(Path(folder, "train", label), LEARNT), VARIED) for label in labels}
        tested = {label: features(pictures(Path(folder, "test", label), TESTED))[:, 0] for label in labels}
        unknown: dict[tuple[str, str], Numbers] = {}
        for each in map(Path, others):
            kinds = sorted(path for path in (each / "test").iterdir() if path.is_dir())
            for kind in kinds:
                files = pictures(kind, max(UNKNOWN // len(kinds), 1))
                unknown[each.name, kind.name] = features(files)[:, 0]
    given, groups = background(start)
    measured: list[dict[str, float]] = []
    for pair in itertools.combinations(labels, 2):
        photographs = np.concatenate([learnt[label] for label in pair])
        truth = np.repeat([0, 1], [len(learnt[label]) for label in pair])
        made, _ = heads.train(heads.without_lookalikes(Examples(photographs, truth, given, groups, 2)))
        known = [tested[label] for label in pair]
        rest = {
            data: np.concatenate([found for (of, kind), found in unknown.items() if of == data and kind not in pair])
            for data in dict.fromkeys(data for data, _ in unknown)
        }
        measured.append(shares(made, known, rest))
        print(line(" / ".join(pair), measured[-1]), flush=True)
    means = {key: float(np.mean([one[key] for one in measured])) for key in measured[0]}
    print(line(f"mean of {len(measured)} pairs", means))


if __name__ == "__main__":
    main(*sys.argv[1:])
