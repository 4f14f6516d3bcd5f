#!/usr/bin/env python3
"""Measure the accuracy of the GPU, and write docs/engineering/accuracy.md.

    scripts/get-data trashnet data/trashnet
    python scripts/accuracy.py                        # everything: about 10 minutes on two CPU cores
    python scripts/accuracy.py --only layers,superres # some sections; the others are those of the last time

The results of each section are stored in docs/engineering/accuracy/SECTION.json, and the page is composed from those
files. Needs TensorFlow, because Keras computes the float results, in child processes. The exit code is 1 if a bound of
docs/engineering/accuracy.md is exceeded; the page is written in either case.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from accuracy_sections import amplification, drivers, mobilenet, networks, superres, textbook, x22
from accuracy_sections.common import BOUNDS, ROOT, Section
from accuracy_sections.page import SECTIONS, page

from glsl_infer.errors import GlslInferError, InputError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context


def measures(args: argparse.Namespace) -> dict[str, Callable[[], Section]]:
    """Return the function that measures each section."""
    return {
        "layers": x22.measure_layers,
        "end_to_end": lambda: x22.measure_end_to_end(args.bundle, args.keras, args.data),
        "drivers": lambda: drivers.measure(args.cases, BOUNDS["layer"]),
        "counts": x22.measure_counts,
        "mobilenet": lambda: mobilenet.measure(args.data),
        "networks": lambda: networks.measure(args.data, args.networks, _known(args.results / "networks.json")),
        "textbook": lambda: textbook.measure(args.data),
        "superres": lambda: superres.measure(args.superres, args.data),
        "amplification": lambda: amplification.measure([args.bundle, args.superres.with_suffix(".glslnn")], args.data),
    }


def _known(path: Path) -> Section:
    """Return the stored results of a section; an empty dict if the section was never measured."""
    known: Section = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return known


def measure(args: argparse.Namespace) -> None:
    """Measure the requested sections, and write the results of each."""
    for path in (args.data, args.keras, args.bundle, args.superres):
        if not path.exists():
            raise InputError(f"{path}: no such file; see the top of {Path(__file__).name}")
    with Context() as context:
        gl = context.gl
        driver = f"{gl.text(GL.GL_RENDERER)}, {gl.text(GL.GL_VERSION)}, {context.how}"
    args.results.mkdir(parents=True, exist_ok=True)
    sections = measures(args)
    for key in args.only:
        print(f"measuring {key} ...", file=sys.stderr, flush=True)
        measured = {"machine": f"{driver}, Python {platform.python_version()}", **sections[key]()}
        (args.results / f"{key}.json").write_text(json.dumps(measured, indent=1) + "\n", "utf-8")


def stored(folder: Path) -> dict[str, Any]:
    """Return the results of all sections.

    Raises:
        InputError: a section was never measured.
    """
    missing = [key for key in SECTIONS if not (folder / f"{key}.json").is_file()]
    if missing:
        raise InputError(f"no numbers yet of {', '.join(missing)}; run with --only {','.join(missing)}")
    return {key: json.loads((folder / f"{key}.json").read_text("utf-8")) for key in SECTIONS}


def sections_of(text: str) -> list[str]:
    """Return the sections of ``--only``."""
    chosen = text.split(",")
    unknown = [name for name in chosen if name not in SECTIONS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return chosen


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure how exact the GPU is.", allow_abbrev=False)
    parser.add_argument("--data", type=Path, default=ROOT / "data/trashnet")
    parser.add_argument("--keras", type=Path, default=ROOT / "models/trashnet-x22-129.keras")
    parser.add_argument("--bundle", type=Path, default=ROOT / "models/trashnet-x22-129.glslnn")
    parser.add_argument("--superres", type=Path, default=ROOT / "models/superres-x2-96.keras")
    parser.add_argument("--only", type=sections_of, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}")
    parser.add_argument("--cases", type=int, default=60, help="random networks of each kind on each driver")
    parser.add_argument("--networks", nargs="+", choices=networks.SIZES, default=list(networks.SIZES), metavar="NAME")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/engineering/accuracy.md", help="the page to write")
    parser.add_argument(
        "--results", type=Path, default=ROOT / "docs/engineering/accuracy", help="folder of the sections' numbers"
    )
    parser.add_argument("--json", type=Path, help="write all numbers to this file as well")
    args = parser.parse_args()
    try:
        measure(args)
        numbers = stored(args.results)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    text = page(numbers)
    print(text)
    args.out.write_text(text, "utf-8")
    if args.json:
        args.json.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
    missed = [key for key in SECTIONS if not numbers[key]["passed"]]
    if missed:
        print(f"bounds missed in: {', '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
