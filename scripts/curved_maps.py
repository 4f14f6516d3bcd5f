#!/usr/bin/env python3
"""Simulate maps of 8 bits along a curve (precision_parts/curved.py), beside steps in even distances.

    python scripts/curved_maps.py --carried FOLDER --jobs 16 --write

Of each network's file as `--precision auto` exports it, rounded anew in several runs that differ by chance: the mean of
its score, and the standard error of that. One run says little: chance alone moves the face mesh by 0.018 pixels.
`scripts/precision.py --carry FOLDER` writes the networks. --write keeps the rows in docs/accuracy/curved_maps.json,
which scripts/precision.py puts into its page.
"""

from __future__ import annotations

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from precision_parts import curved, decomposed
from precision_parts.task import Task, known

from glsl_infer import bundle as bundles
from glsl_infer.graph import Graph
from glsl_infer.support import blas

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs/accuracy/curved_maps.json"
NETWORKS = {
    "face-detection": ("iou", 40),
    "face-mesh": ("pixels", 32),
    "selfie-segmentation": ("iou", 30),
    "hand-landmarks-lite": ("pixels", 64),
    "palm-detection-lite": ("iou", 40),
}
"""What counts of a network, and how many pictures chose its ranges."""


@cache
def exported(name: str, folder: Path) -> Graph:
    """Return what the reference computes of a network's file: weights as drawn, maps as ``auto`` chose."""
    task = Task(name, folder, is_carried=True, pictures=NETWORKS[name][1], bits="auto")
    case, _ = known(name, folder, is_carried=True)
    with task.exported(case) as (path, _, _):
        return bundles.read(path).graph


def run(folder: Path, name: str, seed: int) -> list[float]:
    """Return the scores of one run, each of ``curved.WAYS``."""
    case, floats = known(name, folder, is_carried=True)
    graph, scores = exported(name, folder), []
    with blas.one_thread():
        for way in curved.WAYS:
            store = curved.stored(curved.chosen(graph, way), np.random.default_rng(seed))
            scores.append(case.score(floats, decomposed.outputs(graph, case.test, store))[NETWORKS[name][0]])
    return scores


def row(name: str, runs: list[list[float]]) -> dict[str, Any]:
    """Return means and standard errors over runs."""
    found = np.array(runs)
    errors = found.std(axis=0, ddof=1) / len(found) ** 0.5
    both = np.round(np.stack([found.mean(axis=0), errors], axis=1), 4).tolist()
    return {"network": name, "score": NETWORKS[name][0], "runs": len(found), **dict(zip(curved.WAYS, both))}


def main() -> int:
    """Simulate, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--carried", type=Path, metavar="FOLDER", help="networks and pictures")
    parser.add_argument("--take", type=Path, metavar="FILE", help="only take the rows that were printed elsewhere")
    parser.add_argument("--runs", type=int, default=8, help="of each network (default: 8)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help="keep the rows")
    args = parser.parse_args()
    if (args.take is None) == (args.carried is None):
        parser.error("give --carried or --take")
    rows = [] if args.take is None else [json.loads(line) for line in args.take.read_text("utf-8").splitlines()]
    for name in args.only if args.take is None else ():
        exported(name, args.carried)  # before there are other processes: each would export it again
        with ProcessPoolExecutor(args.jobs) as pool:
            rows.append(row(name, list(pool.map(partial(run, args.carried, name), range(args.runs)))))
        print(json.dumps(rows[-1]), flush=True)
    rows.sort(key=lambda row: list(NETWORKS).index(row["network"]))
    if args.write:
        STORED.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
