#!/usr/bin/env python3
"""Measure exports on images that were not used for calibration, and the effect of each estimator of ranges and bits.

    python scripts/bench/ablations.py --data data --only face-detection trashnet-x22-129 --images 3 10 --write
    python scripts/bench/ablations.py --data data --model yolox=yolox.onnx:0,255 --seeds 3 --without none --write
    python scripts/bench/ablations.py --model blazeface=face.onnx:-1,1 --people blazeface --images 3 40 --without none

Each row describes one export: the smallest cosine and the largest error of any output of any test image, whether the
export warns, and the same figures with the remedy of the warning. `--write` stores the rows in ablations.json and
writes ablations.md from all stored rows. DATA contains photographs as DATA/SET/SPLIT/CLASS/*.jpg: ``val`` calibrates,
``test`` measures. Published networks, and those of ``--people``, have their own images.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from precision_parts.case import Case, read
from precision_parts.made import MADE, SIDE
from precision_parts.repairs import changed
from precision_parts.scores import SCORES, Outputs
from tables import table

from glsl_infer import importers
from glsl_infer.compiler import exact_weights
from glsl_infer.compiler import ranges as stage
from glsl_infer.compiler.assemble import classes_of
from glsl_infer.compiler.build import Options
from glsl_infer.compiler.delegate import Built, build
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.ranges import eight_bits, expected_error, headroom, intervals, rounded_runs, sensitivity
from glsl_infer.compiler.ranges.expected_error import Fold
from glsl_infer.compiler.ranges.unseen import LEAST_COSINE, MOST_ERROR, Remedy
from glsl_infer.graph import Graph, reference
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support import blas
from glsl_infer.tools import remedies

ROOT = Path(__file__).resolve().parents[2]
STORED, PAGE = ROOT / "docs/engineering/ablations.json", ROOT / "docs/engineering/ablations.md"
KEY = ("network", "images", "seed", "bits", "without")
NONE = "none"
SHIPPED = {path.stem: path for path in sorted((ROOT / "models").glob("*.keras"))}
TEST = 12
FEW_NUMBERS = 16
"""Length below which outputs are compared over all images together, not image by image."""
MADE_ON = 24
"""Number of photographs that normalise the networks of ``made``."""
MORE = 40
"""Number of images for the remedy to calibrate with more."""


def photographs(data: Path, split: str, count: int, size: tuple[int, int], seed: int) -> list[Any]:
    """Return photographs of all sets of a split, drawn at random."""
    paths = sorted(data.glob(f"*/{split}/**/*.jpg"))
    return [preprocess.load(paths[i], size) for i in np.random.default_rng(seed).choice(len(paths), count, False)]


def imported(path: Path, ends: tuple[float, float] | None) -> Graph:
    """Return the graph of a model file."""
    found = importers.survey(path, ends, IoOptions())
    if found.graph is None:
        raise SystemExit(f"error: {path}: {found.problems}")
    return found.graph


def picked(images: Sequence[Any], count: int, seed: int) -> list[Any]:
    """Return ``count`` images: evenly spaced for seed 0, else at random."""
    count = min(count, len(images))
    if seed:
        return [images[i] for i in sorted(np.random.default_rng(seed).choice(len(images), count, False))]
    return [images[index * len(images) // count] for index in range(count)]


def case_of(name: str, args: argparse.Namespace, graph: Graph | None, count: int, seed: int) -> Case:
    """Return a network with its calibration images and its test images."""
    if graph is None:
        case = read(args.carried / f"{name}.net") if args.carried else published(name, args.data)
        return Case(name, case.graph, picked(case.calibration, count, seed), picked(case.test, TEST, 0))
    size = graph.input.attrs["shape"][:2]
    if name in args.people:
        from precision_parts.networks import people

        images = people("calibration", size, 8), people("test", size, 8)
        return Case(name, graph, picked(images[0], count, seed), picked(images[1], TEST, 0))
    pictures = partial(photographs, args.data, size=size)
    extra = args.extra.get(name)
    tests = [] if extra is None or not extra.exists() else list(np.load(extra)["images"])
    return Case(name, graph, pictures("val", count=count, seed=seed), tests + pictures("test", count=TEST, seed=99))


def published(name: str, data: Path) -> Case:
    """Return a network of scripts/bench/precision.py; fetch it if the cache does not have it."""
    from precision_parts.networks import NETWORKS

    return NETWORKS[name](data)


def _all(graph: Graph) -> dict[str, intervals.Ends]:
    return {node.name: intervals.ALL for node in graph.nodes}


def changes() -> Mapping[str, Sequence[tuple[Any, str, Any]]]:
    """Return the module attributes to replace, by the name of the estimator they switch off."""
    from glsl_infer.compiler.ranges import unseen, varied

    spend = sensitivity.spend
    return {
        "choice of the way by held-out images": ((expected_error, "FEWEST", 1 << 30),),
        "copies of few images in ranges": ((varied, "reached", lambda graph, names, images, shown: shown),),
        "values that readers distinguish": tuple(
            (place, "distinguishable_intervals", _all) for place in (eight_bits, headroom)
        ),
        "wider ranges of seldom active channels": ((eight_bits, "WELL_SEEN", 0),),
        "room for scores of the other sign": ((eight_bits, "REACH", 0.0),),
        "headroom of 16 bits with few images": ((eight_bits, "MANY", 1),),
        "least growth of few images": ((eight_bits, "LEAST_GROWTH", 1.0),),
        "headroom of 16 bits": ((headroom, "HEADROOM_16BIT", 1.0),),
        "rows of detectors by their scores": ((rounded_runs, "scores_of", lambda graph: {}),),
        "held-out ranges in the search": (
            (stage, "spend", lambda g, c, samples, *a: spend(g, c, [(image, Fold()) for image, _ in samples], *a)),
        ),
        "copies of few images in the search": ((unseen, "COPIES", ()),),
        "up to twice the work": ((sensitivity, "FAR", 1e9),),
        "finer weights": ((exact_weights, "choose", lambda *a, **k: frozenset()),),
    }


def outputs_of(graph: Any, case: Case, mode: str) -> list[Outputs]:
    """Return the outputs of a graph or a bundle for the test images."""
    return [reference.run(graph, {case.graph.input.name: picture}, mode=mode) for picture in case.test]


def scored(floats: Sequence[Outputs], stored: Sequence[Outputs]) -> dict[str, Any]:
    """Return the smallest cosine with the float outputs, and the largest error of an output as a share of its range.

    Also the mean signal-to-error ratio in dB, and the mean and largest distance of values relative to an image's mean.
    """
    ratios, cosines, errors, distances = [], [], [], []
    for name in floats[0]:
        exact, other = (np.stack([np.ravel(one[name]) for one in many]).astype(float) for many in (floats, stored))
        error = max(float(((exact - other) ** 2).sum()), 1e-30)
        ratios.append(10.0 * np.log10(max(float(((exact - exact.mean()) ** 2).sum()), 1e-30) / error))
        rows = [(exact.ravel(), other.ravel())] if exact.shape[1] < FEW_NUMBERS else list(zip(exact, other))
        cosines += [float(a @ b / np.sqrt((a @ a) * (b @ b) + 1e-60)) for a, b in rows]
        span = max(float(exact.max()), 0.0) - min(float(exact.min()), 0.0)
        errors.append(float(np.sqrt(((exact - other) ** 2).mean(axis=1).max())) / max(span, 1e-30))
        centred = [values - values.mean(axis=1, keepdims=True) for values in (exact, other)]
        distances.append(np.abs(centred[0] - centred[1]))
    found = {"cosine": min(cosines), "off": max(errors), "mean": max(float(one.mean()) for one in distances)}
    found |= {"most": max(float(one.max()) for one in distances)}
    return {key: round(value, 4) for key, value in found.items()} | {"db": round(float(np.mean(ratios)), 2)}


def good(row: Mapping[str, Any], prefix: str = "") -> bool:
    """Return whether outputs are as exact as an export without a warning promises."""
    return bool(row[f"{prefix}cosine"] >= LEAST_COSINE and row[f"{prefix}off"] <= MOST_ERROR)


def exported(case: Case, bits: str, samples: Sequence[Outputs], **more: Any) -> tuple[Built, list[str], Options]:
    """Return a compiled network with its labels and its options."""
    labels = [f"class {index}" for index in range(classes_of(case.graph))]
    options = Options(**{"precision": bits, **more})
    return build(case.graph, labels, options=options, calibration=samples), labels, options


def outputs_of_built(built: Built, case: Case) -> list[Outputs]:
    """Return the outputs of an export for the test images."""
    return outputs_of(built.bundle if built.parts else built.bundle.graph, case, "stored")


def measured(
    case: Case, floats: Sequence[Outputs], bits: str, places: Sequence[Any], more: Callable[[], Sequence[Any]]
) -> dict[str, Any]:
    """Return the scores of an export, its number of draws, its number of 16-bit maps and its CPU time in seconds.

    Args:
        case: the network and its images.
        floats: the float network's outputs for the test images.
        bits: the precision.
        places: attributes to replace; see ``changed``.
        more: returns further calibration images, for a remedy that needs them.
    """
    name, begin = case.graph.input.name, time.process_time()
    samples = [{name: picture} for picture in case.calibration]
    with changed(*places), blas.one_thread():
        built, labels, options = exported(case, bits, samples)
        seconds = time.process_time() - begin
        stored = outputs_of_built(built, case)
        found = remedies.measured(built, labels, options, samples, str) if samples and not places else None
    task = SCORES[case.name](case.graph)(floats, stored) if case.name in SCORES else {}
    draws = sum(len(part.program.passes) for part in built.gpu)
    fine = sum(len(part.prepared.precision) for part in built.gpu)
    row = scored(floats, stored) | {key: round(task[key], 4) for key in ("iou", "pixels") if key in task}
    row |= {"draws": draws, "fine": fine, "s": round(seconds, 1)}
    if found is None:
        return row
    row |= {"expected": round(found.worst.cosine, 4), "warned": not all(one.is_small for one in found.outputs)}
    if row["warned"]:
        row |= remedied(case, floats, bits, found.remedies, more)
    return row


def remedied(
    case: Case,
    floats: Sequence[Outputs],
    bits: str,
    tried: Sequence[Remedy],
    more: Callable[[], Sequence[Any]],
) -> dict[str, Any]:
    """Return the remedy of a warning, and the scores of the remedied export."""
    best = max(tried, key=lambda remedy: (remedy.helps, remedy.cosine), default=None)
    text = "" if best is None else best.change
    pictures = [*case.calibration, *more()] if best is None or remedies.MORE_IMAGES in text else case.calibration
    options = next((values for name, values in reversed(remedies.TRIED) if text.startswith(name)), {})
    samples = [{case.graph.input.name: picture} for picture in pictures]
    with blas.one_thread():
        built, *_ = exported(case, bits, samples, **options)
        scores = scored(floats, outputs_of_built(built, case))
    text = text.replace(remedies.MORE_IMAGES, f"{len(pictures)} images") or f"{len(pictures)} images"
    helps = best is not None and best.helps
    return {"remedy": text, "helps": helps, "remedy_cosine": scores["cosine"], "remedy_off": scores["off"]}


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of all rows."""
    plain = [row for row in rows if row["without"] == NONE]
    lines = []
    for network, images, bits in dict.fromkeys((row["network"], row["images"], row["bits"]) for row in plain):
        same = [row for row in plain if (row["network"], row["images"], row["bits"]) == (network, images, bits)]
        lines.append([network, str(images), bits, *_summary(same)])
    head = ["network", "images", "bits", "exports", "cosine", "error", "task", "draws", "warnings", "with the remedy"]
    text = f"{TEXT}\n\n## Images that were not used\n\n{table(head, lines)}"
    found = {_case_of(row): row for row in plain}
    without = [row for row in rows if row["without"] != NONE and _case_of(row) in found]
    lines = []
    for change, bits in dict.fromkeys((row["without"], row["bits"]) for row in without):
        mine = [row for row in without if (row["without"], row["bits"]) == (change, bits)]
        lost = np.array([found[_case_of(row)]["db"] - row["db"] for row in mine])
        far = [f"{row['network']} {row['images']}: {loss:+.1f}" for row, loss in zip(mine, lost)]
        order = np.argsort(lost)
        ends = "; ".join(far[i] for i in dict.fromkeys((int(order[-1]), int(order[0]))))
        moved = int((np.abs(lost) > 0.5).sum())
        lines.append([change, bits, str(len(mine)), f"{lost.mean():+.2f}", str(moved), ends])
    head = ["without", "bits", "exports", "mean loss, dB", "moved by 0.5 dB", "largest loss; largest gain"]
    return text + (f"\n\n## Without one estimator\n\n{table(head, lines)}" if lines else "") + f"\n\n{REJECTED}\n"


def _case_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[key] for key in KEY[:4])


def _summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the cells of exports that differ in their calibration images."""
    worst = min(rows, key=lambda row: row["cosine"])
    keys = ("mean",) if worst["network"] in SHIPPED else ("iou", "pixels")
    task = ", ".join(f"{key} {worst[key]:.4g}" for key in keys if key in worst)
    draws = sorted({row["draws"] for row in (rows[0], rows[-1])})
    warned = [row for row in rows if row.get("warned")]
    remedy = ""
    if warned:
        last = min(warned, key=lambda row: row["remedy_cosine"])
        most = max(row["remedy_off"] for row in warned)
        remedy = f"`{last['remedy']}`: {last['remedy_cosine']:.4f}, {most:.3f}"
    cells = [str(len(rows)), f"{worst['cosine']:.4f}", f"{max(row['off'] for row in rows):.3f}", task or "-"]
    return [*cells, " to ".join(map(str, draws)), str(len(warned)), remedy or "-"]


TEXT = """# Ablations

`scripts/bench/ablations.py --write` measures and writes this page.

Exports are compared with the float network on pictures that were not used for calibration. Every row has the worst of
several exports, each calibrated with other images: the smallest cosine of an output of one picture, and the largest
root mean square error of an output as a share of its range. Export promises a cosine of 0.99 and an error of 0.05, or
it prints a warning with a remedy. The last columns have the number of warnings, and the same figures for the network
exported with the remedy. All rows of a detector count; `iou` compares the boxes of the rows with a high score,
and `mean` is the mean error of logits.
Networks without a task are measured on photographs of groceries and waste."""

REJECTED = """## Tried without success

Of a few images, the spread of a layer's largest value made ranges in 8 bits up to 3 times as wide, and more headroom
made them up to 1.32 times as wide. `auto` is more exact without both, because the search sees which layers clip, and
stores them in 16 bits. For yolox with five choices of three photographs, the cosine was 0.977 to 1.000 with both, and
0.998 to 1.000 without. 2026-11-28.

With 40 images, limits of 1.12 and 1.11 for the cost of maps instead of 1.14 gave face-detection 0.9795 and 0.9811 of
the overlap of 24 boxes, which is within the noise of so few boxes. 2026-11-28.

With 40 images, a search on the two that clip most and two others, instead of four evenly spaced ones, gave the network
`detector` a cosine of 0.993 instead of 0.986. However, face-mesh had 0.300 pixels instead of 0.276, and blazeface
0.9947 instead of 0.9971, because clipping that more bits cannot prevent hid the rounding. 2026-11-28."""


def main() -> int:
    """Measure, write the page, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help=f"of {', '.join([*SCORES, *SHIPPED, *MADE])}"
    )
    parser.add_argument(
        "--model",
        nargs="*",
        default=[],
        metavar="NAME=FILE[:LOW,HIGH]",
        help="files, with their range, and more test images in FILE.npz",
    )
    parser.add_argument("--people", nargs="*", default=[], metavar="NAME", help="files whose images are of people")
    parser.add_argument("--images", nargs="+", type=int, default=[3, 10, 40], metavar="N", help="0: without images")
    parser.add_argument("--seeds", type=int, default=1, help="choices of images")
    parser.add_argument("--bits", nargs="+", default=["auto"], choices=["8", "auto", "16"])
    parser.add_argument("--without", nargs="*", metavar="TEXT", help=f"estimators (default: each, and {NONE})")
    parser.add_argument("--data", type=Path, default=ROOT / "data", metavar="DIR")
    parser.add_argument("--carried", type=Path, metavar="DIR", help="networks that precision.py --carry wrote")
    parser.add_argument("--rows", type=Path, metavar="FILE", default=STORED, help="where rows are stored")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args(namespace=argparse.Namespace(extra={}))
    graphs: dict[str, Callable[[], Graph] | None] = {name: None for name in args.only}
    graphs |= {name: partial(imported, path, None) for name, path in SHIPPED.items() if name in args.only}
    for name in {*MADE} & {*args.only}:
        photos = photographs(args.data, "train", MADE_ON, (SIDE, SIDE), 0)
        graphs[name] = partial(MADE[name], photos)
    for given in args.model:
        name, _, rest = given.partition("=")
        path, _, ends = rest.partition(":")
        given_range = tuple(map(float, ends.split(","))) if ends else None
        graphs[name] = partial(imported, Path(path), given_range)
        args.extra[name] = Path(path).with_suffix(".npz")
    stored = json.loads(args.rows.read_text("utf-8")) if args.rows.exists() else []
    rows = {tuple(row[key] for key in KEY): row for row in stored}
    known = changes()
    for name, load in graphs.items():
        graph = load() if load else None
        for count, seed in itertools.product(args.images, range(args.seeds)):
            if seed and not count:
                continue
            case = case_of(name, args, graph, count, seed)
            more = partial(lambda *given: case_of(*given).calibration, name, args, graph, MORE, seed + 100)
            floats = outputs_of(optimize(case.graph), case, "float")
            for bits in args.bits:
                for change in [NONE, *known] if args.without is None else args.without:
                    row = dict(zip(KEY, (name, count, seed, bits, change)))
                    row |= measured(case, floats, bits, known[change] if change != NONE else (), more)
                    rows[tuple(row[key] for key in KEY)] = row
                    print(json.dumps(row), "" if good(row) or (row.get("warned") and good(row, "remedy_")) else "BAD")
                    sys.stdout.flush()
                    if args.write:
                        args.rows.write_text("[\n" + ",\n".join(map(json.dumps, rows.values())) + "\n]\n", "utf-8")
    if args.write and args.rows == STORED:
        PAGE.write_text(page(list(rows.values())), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
