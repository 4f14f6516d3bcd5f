"""Check this machine and each layer of a model on it, and print how to fix each problem.

``tools.doctor`` has the checks.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli import arguments, progress
from glsl_infer.cli.terminal_text import print_lines, print_result
from glsl_infer.errors import InputError

if TYPE_CHECKING:
    from glsl_infer.tools.doctor import Finding


EXAMPLES = (
    "glsl-infer doctor",
    "glsl-infer doctor model.glslnn",
    "glsl-infer doctor --json > doctor.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        metavar="MODEL.glslnn",
        help="The model for the self-check (default: the model that comes with the package).",
    )
    parser.add_argument("--no-selfcheck", action="store_true", help="Do not check the layers of a model.")
    arguments.add_context(parser)
    arguments.add_json(parser, "Print JSON with all figures, for a bug report.")


def run(args: argparse.Namespace) -> int:
    """Run every check and print a line for each; return 1 if there is a problem."""
    from glsl_infer.support.resources import default_model
    from glsl_infer.tools.doctor import CHECKS, Machine, Status, report, run_check, verdict

    if args.model is not None and not args.model.is_file():
        raise InputError(f"{args.model}: no such file; give a *.glslnn file, or none for the model of the package")
    model = None if args.no_selfcheck else args.model or default_model()
    machine = Machine(context=args.context, model=model)
    findings = []
    for name in CHECKS:
        with progress.status(f"doctor: checking {name}") as machine.progress:
            finding = run_check(name, machine)
        if finding is None:
            continue
        findings.append(finding)
        if not args.json:
            print_lines(_lines(finding))
    print_result(args, report(findings, machine), ["", verdict(findings)])
    return int(any(finding.status is Status.PROBLEM for finding in findings))


def _lines(finding: Finding) -> list[str]:
    """Return the line of a finding and one for each fix."""
    return [
        f"{finding.status.value:8} {finding.name:11} {finding.message}",
        *(f"{'':20} {fix}" for fix in finding.fixes),
    ]
