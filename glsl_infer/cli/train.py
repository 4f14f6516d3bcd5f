"""Learn classes of your own from folders of photographs: pictures in, a .glslnn file out."""

from __future__ import annotations

import argparse
from pathlib import Path

from glsl_infer.bundle import SUFFIX
from glsl_infer.cli import progress
from glsl_infer.cli.terminal_text import say_warning
from glsl_infer.errors import InputError
from glsl_infer.gl.context import CHOICES
from glsl_infer.support.files import output_file
from glsl_infer.support.plain_text import one_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "photographs",
        type=Path,
        metavar="FOLDER",
        help="CLASS/*.jpg; a folder named none is no class: what it shows is to be answered 'none of these'",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="FILE.glslnn",
        help="the file to write; its card (.md) and contact sheet (.png) are written beside it",
    )
    parser.add_argument(
        "--start",
        type=Path,
        metavar="FILE.glslnn",
        help="a classifier whose features are used (default: the one of those that come with the package which suits "
        "the photographs better)",
    )
    parser.add_argument("--context", choices=CHOICES, default="auto", help="how to get at the GPU (default: auto)")
    parser.add_argument("--json", action="store_true", help="print what was made as JSON")


def run(args: argparse.Namespace) -> int:
    """Train and print what came of it."""
    from glsl_infer.tools.train.make import train

    if args.out.suffix != SUFFIX:
        raise InputError(f"{args.out}: name the file *{SUFFIX}")
    if not args.out.absolute().parent.is_dir():
        raise InputError(f"{args.out.parent}: no such folder")
    for path in (args.out, args.out.with_suffix(".md"), args.out.with_suffix(".png")):
        output_file(path)
    with progress.status("train") as tell:
        made = train(args.photographs, args.out, start=args.start, context=args.context, tell=tell)
    for warning in made.warnings:
        say_warning(one_line(warning))
    if args.json:
        print(made.as_json())
        return 0
    verdict = made.verdict
    for label, row in zip(made.classes, verdict.confusion):
        right = row[made.classes.index(label)]
        print(one_line(f"{right:5} of {sum(row):4} right, {row[-1]:3} 'none of these'  {label}"))
    print(
        f"cross-validation: {100 * verdict.accuracy:.1f} % get their class; 'none of these' is answered to "
        f"{100 * verdict.known_refused:.1f} % of them and {100 * verdict.unknown_refused:.1f} % of unknown things"
    )
    minutes, worked = (seconds / 60 for seconds in made.seconds)
    print(f"{args.out}: started from {made.start}, {minutes:.1f} minutes, {worked:.1f} of one processor core")
    print(f"{args.out.with_suffix('.md')}: its card; {args.out.with_suffix('.png')}: its photographs")
    return 0
