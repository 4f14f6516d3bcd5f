#!/usr/bin/env python3
"""Compare activations of X22, accuracy against instructions, and write docs/activations.md.

    python scripts/activation_study.py             # about 2 minutes on two CPU cores
    python scripts/activation_study.py --table     # the page alone, from the numbers of the last time

What Mesa's compiler for a VideoCore IV says of every shader of X22 with random weights is written to
docs/activations/instructions.json; no board is needed, and the driver is found as by ``glsl-infer vc4``. Accuracies
are those that scripts/activation_training.py has written to docs/activations/training.json:

    {ACTIVATION: [{"seed": 1, "val": 0.734}, ...], ...}

with ``val`` the top-1 accuracy on the validation split, 0 to 1; what is not there is not measured. Needs
TensorFlow: Keras runs in processes beside this one.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import graph_file
from accuracy_sections.common import keras_side
from activation_page import ACTIVATIONS, accuracies, page

from glsl_infer import bundle as bundles
from glsl_infer.cli.progress import bar
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.support.files import write_text
from glsl_infer.tools import videocore as vc4
from glsl_infer.tools.videocore import Driver, Report, report

ROOT = Path(__file__).resolve().parent.parent
MODES = ("uniform", "baked")
CLASSES = 120

Numbers = dict[str, Any]


def measure(driver: Driver, size: int) -> Numbers:
    """Return the instructions of every layer, for every activation and weights mode.

    Raises:
        InputError, RunError: a process beside this one failed; it said why.
    """
    found: dict[str, dict[str, Numbers]] = {name: {} for name in ACTIVATIONS}
    with tempfile.TemporaryDirectory() as folder:
        for name, mode in bar([(name, mode) for name in ACTIVATIONS for mode in MODES], "activations"):
            if mode == MODES[0]:
                keras_side("x22", Path(folder), size=size, activation=name)
            graph = graph_file.read(Path(folder) / "x22.graph")
            labels = [f"class {index}" for index in range(CLASSES)]
            made, _, _ = build(graph, labels, options=Options(weights=mode))
            bundles.write(made, Path(folder) / "x22.glslnn")
            found[name][mode] = summed(compiled(driver, Path(folder) / "x22.glslnn"))
    return {"size": size, "classes": CLASSES, "activations": found}


def compiled(driver: Driver, bundle: Path) -> Report:
    """Return what the vc4 driver makes of a bundle.

    Raises:
        RunError: it cannot draw one of its layers.
    """
    found = report(*vc4.measure(bundle, driver), bundle.name)
    failed = [
        problem for problem in found.problems if any(row.failed for row in found.rows if row.layer == problem.layer)
    ]
    if failed:
        raise RunError(f"{found.file}: layer '{failed[0].layer}': {failed[0].text}")
    return found


def summed(found: Report) -> Numbers:
    """Return the instructions of a bundle: of a frame, and layer by layer.

    A frame's are those of each pass times the pixels that it draws.
    """
    layers = [
        {
            "layer": row.layer,
            "least": row.least,
            "most": row.instructions,
            "threads": row.threads,
            "pixels": row.pixels,
            "total": row.total,
        }
        for row in found.rows
    ]
    return {"programs": len(found.shaders), "total": found.total, "layers": layers}


def read(path: Path) -> Numbers:
    """Return the numbers in a file.

    Raises:
        InputError: there are none, or it is damaged.
    """
    try:
        found: Numbers = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; measure first, without --table") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    return found


def composed(stored: Path, scores: Mapping[str, Sequence[float]]) -> tuple[Numbers, str]:
    """Return what was measured, and the page of it.

    Raises:
        InputError: it is not there, or damaged.
    """
    found = read(stored)
    try:
        return found, page(found, scores)
    except (LookupError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise InputError(f"{stored}: damaged ({error!r}); measure again, without --table") from None


def write(path: Path, text: str) -> None:
    """Write a file; until it is complete, one that was there stays.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def as_text(found: Numbers) -> str:
    """Return numbers as JSON with a line for each layer."""
    return re.sub(r"\{[^{}]*\}", lambda one: re.sub(r"\s+", " ", one[0]), json.dumps(found, indent=1)) + "\n"


def main() -> int:
    """Measure, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Compare activations of X22.", allow_abbrev=False)
    parser.add_argument(
        "--driver", type=Path, metavar="DIR", help="folder of Mesa's vc4 driver and shim, as for glsl-infer vc4"
    )
    parser.add_argument("--size", type=int, choices=(257, 385), default=257, help="side of the picture, in pixels")
    parser.add_argument("--table", action="store_true", help="measure nothing, write the page from what is stored")
    parser.add_argument("--results", type=Path, default=ROOT / "docs/activations", help="folder of the numbers")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/activations.md", help="the page to write")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to this file as well")
    args = parser.parse_args()
    stored = args.results / "instructions.json"
    try:
        training = args.results / "training.json"
        scores = accuracies(read(training), training.name) if training.exists() else {}
        if not args.table:
            write(stored, as_text(measure(vc4.find(args.driver), args.size)))
        found, text = composed(stored, scores)
        write(args.out, text)
        if args.json:
            write(args.json, as_text({"instructions": found, "training": scores}))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
