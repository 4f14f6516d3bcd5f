"""Write a report on this machine: driver, self-checks, speed and the GPU's counters.

docs/engineering/boards.md has the received reports.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from glsl_infer.cli import arguments, progress
from glsl_infer.cli.terminal_text import print_result
from glsl_infer.support import files

RUNS = 30
NAME = "glsl-infer-report.json"


EXAMPLES = (
    "glsl-infer report",
    "glsl-infer report model.glslnn -o board.json",
    "glsl-infer report --minutes 10 --note 'with a heat sink'",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "models",
        type=Path,
        nargs="*",
        metavar="MODEL.glslnn",
        help="The models to check and to time (default: those that come with the package).",
    )
    parser.add_argument(
        "-o",
        "--out",
        dest="output",
        type=Path,
        default=Path(NAME),
        metavar="FILE.json",
        help="The report, as JSON. A page with the same content, .html, is written to the same folder (default: "
        f"{NAME}).",
    )
    arguments.accept(parser, "--out", "--output")
    parser.add_argument("--note", default="", metavar="TEXT", help='A note about the machine, e.g. "with a heat sink".')
    measured = arguments.group(parser, "Measurement")
    measured.add_argument(
        "--runs",
        type=arguments.count,
        default=RUNS,
        metavar="N",
        help=f"Measured frames of a model (default: {RUNS}).",
    )
    measured.add_argument(
        "--minutes",
        type=arguments.minutes,
        metavar="MINUTES",
        help="Run the first model for this long as well, to measure whether the speed is sustained.",
    )
    arguments.add_context(parser)
    arguments.add_json(parser, "Print the report as well.")


def run(args: argparse.Namespace) -> int:
    """Collect data, write both files, print a summary; return 1 if a model failed or was wrong."""
    from glsl_infer.tools.report.collect import collect, default_models, steps_of
    from glsl_infer.tools.report.page import page

    output: Path = args.output
    files.check_output(output, ".json", option="-o")
    written = (output, output.with_suffix(".html"))
    files.output_file(written[1])
    models = args.models or default_models()
    with progress.counter(steps_of(models, args.minutes), "steps", "report") as done, progress.status("report") as say:

        def next_step(words: str) -> None:
            done(1)
            say(words)

        report = collect(
            models, context=args.context, runs=args.runs, minutes=args.minutes, note=args.note, progress=next_step
        )  # fmt: skip
    for path, text in zip(written, (json.dumps(report, indent=1) + "\n", page(report))):
        files.write_output(path, text)
    print_result(args, report, [*_summary(report), "", f"wrote {written[0]} (to send) and {written[1]} (to read)"])
    return 0 if all(model["selfcheck"].get("passed") is True for model in report["models"]) else 1


def _summary(report: dict[str, Any]) -> list[str]:
    from glsl_infer.tools.report.saved import frame_ms, start_ms

    driver = report["driver"]
    lines = [report["machine"]["cpu"], str(driver.get("renderer") or driver.get("failed") or "no OpenGL ES 2.0"), ""]
    name_width = max(len(model["model"]) for model in report["models"])
    for model in report["models"]:
        check, times, start = model["selfcheck"], frame_ms(model), start_ms(model)
        verdict = "right" if check.get("passed") is True else f"WRONG: {check.get('wrong') or check.get('failed')}"
        frame = "not timed" if times is None else f"{times['median']:9.2f} ms a frame"
        first = "" if start is None else f", first result after {start:.0f} ms"
        lines.append(f"{model['model']:{name_width}}  {verdict:6} {frame}{first}")
    return lines
