"""Turn a saved Keras model into a .glslnn file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from glsl_infer.bundle import SUFFIX
from glsl_infer.cli import pictures
from glsl_infer.errors import InputError

MAX_CALIBRATION = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", type=Path, metavar="MODEL.keras", help="a saved Keras model")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.glslnn", help="the file to write")
    parser.add_argument("--labels", type=Path, required=True, help="text file with one label a line")
    parser.add_argument(
        "--weights",
        choices=("auto", "baked", "uniform"),
        default="auto",
        help="weights as constants (a program a slice), in uniform arrays (few programs), or whichever costs less",
    )
    parser.add_argument(
        "--calibrate",
        type=Path,
        metavar="DIR",
        help=f"typical pictures, for 16-bit scales that would be too coarse otherwise (the first {MAX_CALIBRATION})",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Export and print the report."""
    from glsl_infer.export import Report, export

    if args.out.suffix != SUFFIX:
        raise InputError(f"{args.out}: name the file *{SUFFIX}")
    if not args.out.parent.is_dir():
        raise InputError(f"{args.out.parent}: no such folder")
    calibration = [] if args.calibrate is None else pictures.find([args.calibrate])[:MAX_CALIBRATION]
    report: Report = export(args.model, args.out, args.labels, weights=args.weights, calibration=calibration)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if args.json:
        print(json.dumps(report.as_json(), indent=1))
        return 0
    print(f"{'layer':24} {'operator':20} {'shape':>12} {'weights':>8} {'passes':>6} {'programs':>8}  texture")
    for one in report.layers:
        shape, texture = "x".join(map(str, one.shape)), "x".join(map(str, one.texture))
        print(f"{one.layer:24} {one.op:20} {shape:>12} {one.weights:>8} {one.passes:6} {one.programs:8}  {texture}")
    print()
    print(f"{'16-bit vector':24} {'bound':>10} {'calibrated':>10} {'scale':>10} {'step':>10}  chosen by")
    for choice in report.scales:
        seen = "-" if choice.calibrated is None else f"{choice.calibrated:.4g}"
        print(
            f"{choice.layer:24} {choice.bound:10.4g} {seen:>10} {choice.scale:10.4g} {choice.step:10.3g}  {choice.by}"
        )
    totals = report.totals
    print()
    print(
        f"{args.out}: {totals['passes']} passes in {totals['jobs']} jobs, {totals['programs']} programs, "
        f"{totals['texture_bytes'] / 1e6:.2f} MB of textures, {totals['file_bytes'] / 1e6:.2f} MB on disk"
    )
    return 0
