"""Run the nine tests of the AI Benchmark, print a row for each, and compute the score.

docs/engineering/aibench.md has the rules and the measurements.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from glsl_infer.cli import arguments, progress
from glsl_infer.cli.terminal_text import print_lines, print_result
from glsl_infer.errors import GlslInferError, InputError

MEMORY = 256
LARGEST_LIMIT, QUICK_LIMIT, QUICK_PICTURES = 60.0, 10.0, 4


EXAMPLES = (
    "glsl-infer aibench",
    "glsl-infer aibench --quick",
    "glsl-infer aibench --only 4,8 --plot scores.png",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--only", metavar="N,N", help="Run only the tests with these numbers, e.g. 4,8 (default: all).")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="Use small images, a few of each, and the small networks. There is no score.",
    )
    parser.add_argument(
        "--models",
        type=Path,
        metavar="DIR",
        help="The folder with the exported models. Missing ones are built there once, in minutes (default: in the "
        "cache folder).",
    )
    output = arguments.group(parser, "Output")
    output.add_argument("--plot", type=Path, metavar="FILE.png", help="Draw each result next to those of 30 phones.")
    output.add_argument(
        "--phones",
        type=Path,
        metavar="FILE.csv",
        help="Add the results of other devices to the table of phones (columns: phone,1,...,9,score).",
    )
    arguments.add_context(parser)
    arguments.group(parser, arguments.ADVANCED).add_argument(
        "--memory",
        type=arguments.number(int, "at least 1 MB", lambda megabytes: megabytes >= 1),
        default=MEMORY,
        metavar="MB",
        help=f"The memory limit for the image and the result of test 9 (default: {MEMORY}).",
    )
    arguments.add_json(parser, "Print everything as JSON.")


def run(args: argparse.Namespace) -> int:
    """Run the tests. A failed test is a row with the error."""
    from glsl_infer.tools.aibench import bundles, phones, tests

    try:
        chosen = tests.chosen(args.only, args.quick)
    except ValueError as error:
        raise InputError(f"--only {error}") from None
    if args.phones is not None and (args.json or args.quick):
        raise InputError(
            "--phones cannot be used with --json or --quick, which leave out the table of phones; leave one out"
        )
    phone_rows = phones.read(args.phones)
    if args.plot is not None:
        from glsl_infer.tools.aibench import plot

        plot.check(args.plot)
    if args.models is not None and args.models.exists() and not args.models.is_dir():
        raise InputError(f"--models {args.models}: not a folder")
    folder = args.models or bundles.default_folder()
    bundles.require_any(chosen, folder, args.quick)
    rows: list[dict[str, Any]] = []
    machine: dict[str, Any] = {}
    for test in chosen:
        with progress.status(f"aibench: {test.number} {test.task}") as say:
            row: dict[str, Any] = {"test": test.number, "task": test.task, "network": test.network}
            try:
                row.update(_run_test(test, args, folder, machine, say))
            except (GlslInferError, MemoryError) as error:
                row["failed"] = str(error) or "out of memory"
        rows.append(row)
        if not args.json:
            print_lines([_line(row)])
    result = {"machine": machine, "quick": args.quick, "tests": rows, "score": _score(rows, args)}
    if args.plot is not None:
        plot.plot_results(result, args.plot)
    lines = [] if result["score"] is None else [f"score {result['score']:.0f} (a Pixel 2 has 1293)"]
    lines += [] if args.quick else ["", *phones.table("this machine", rows, result["score"], phone_rows)]
    print_result(args, result, lines)
    return 1 if all("failed" in row for row in rows) else 0


def _run_test(test: Any, args: argparse.Namespace, folder: Path, machine: dict[str, Any], say: Any) -> dict[str, Any]:
    """Run a test; return the measured values of its row."""
    from glsl_infer.runtime.session import Session
    from glsl_infer.tools.aibench import bundles, largest_image, memory_need, timing
    from glsl_infer.tools.aibench.tests import LARGEST
    from glsl_infer.tools.benchmark.machine import describe

    path = bundles.bundle_of(test, folder, args.quick, say)
    memory_need.check(path)
    say("running")
    started = time.perf_counter()
    with Session(path, context=args.context) as session:
        machine.update(describe(session.context))
        bundles.check_size(session.bundle, test, args.quick)
        if test.number == LARGEST:
            limit, sizes = (
                (QUICK_LIMIT, largest_image.MEGAPIXELS[:1]) if args.quick else (LARGEST_LIMIT, largest_image.MEGAPIXELS)
            )
            side = largest_image.largest(session, args.memory << 20, limit, say, sizes)
            return {"megapixels": side.megapixels, "seconds": side.seconds, "stopped": side.why}
        most = QUICK_PICTURES if args.quick else timing.MOST_PICTURES
        times = timing.timed(session, test.limit or LARGEST_LIMIT, started, most)
        width, height = bundles.size_of(test, args.quick)
        return {
            "width": width, "height": height, "pictures": times.pictures, "ms": times.ms, "first_ms": times.first,
            "passes": len(session.bundle.manifest.passes), "file_bytes": path.stat().st_size,
            "programs": len(session.bundle.manifest.programs), "restored": session.restored_programs,
            "compiled": session.compiled_programs,
        }  # fmt: skip


def _score(rows: list[dict[str, Any]], args: argparse.Namespace) -> float | None:
    """Return the score of a complete run, or None for a partial one."""
    from glsl_infer.tools.aibench.phones import score_of

    if args.quick or args.only is not None:
        return None
    results: dict[int, float] = {
        row["test"]: row["ms"] if "ms" in row else row["megapixels"] for row in rows if "failed" not in row
    }
    return score_of(results)


def _line(row: dict[str, Any]) -> str:
    """Return a row as a line of text."""
    begin = f"{row['test']}  {row['task']:20} {row['network']:20}"
    if "failed" in row:
        return f"{begin} failed: {row['failed']}"
    if "megapixels" in row:
        return f"{begin} {row['megapixels']:g} megapixels in {row['seconds']:.1f} s; {row['stopped']}"
    compiled = f"{row['compiled']} of {row['compiled'] + row['restored']} programs compiled"
    return (
        f"{begin} {row['width']}x{row['height']:<5} {row['ms']:9.1f} ms an image, {row['pictures']} done, "
        f"first after {row['first_ms'] / 1000:.1f} s, {compiled}"
    )
