"""Train a classifier for your own classes from folders of photographs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.bundle import SUFFIX
from glsl_infer.cli import arguments, progress
from glsl_infer.cli.terminal_text import say_warning
from glsl_infer.errors import InputError
from glsl_infer.support.files import check_output, output_file
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.tools.train.make import Trained

EXAMPLES = (
    "glsl-infer train photos -o mine.glslnn",
    "glsl-infer train photos -o mine.glslnn --start groceries.glslnn",
    "glsl-infer classify mine.glslnn photo.jpg",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "photographs",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="A folder with a folder of photographs for each class. A folder named none has photographs without any "
        "of the classes; the model answers 'none of these' to similar images.",
    )
    parser.add_argument("--images", type=Path, metavar="DIR", help="The same as DIR, as an option.")
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="FILE.glslnn",
        help="The file to write. Its description (.md) and a sheet of the photographs (.png) are written to the same "
        "folder.",
    )
    parser.add_argument(
        "--start",
        type=Path,
        metavar="FILE.glslnn",
        help="The classifier to start from (default: of those that come with the package, the best one for these "
        "photographs).",
    )
    arguments.accept(parser, "--start", "--model")
    arguments.add_context(parser)
    arguments.add_json(parser, "Print a summary as JSON.")


def run(args: argparse.Namespace) -> int:
    """Train and print the result."""
    from glsl_infer.tools.train.make import train

    photographs = args.photographs or args.images
    if photographs is None:
        raise InputError(
            "no photographs; give a folder with a folder for each class: glsl-infer train DIR -o FILE.glslnn"
        )

    check_output(args.out, SUFFIX)
    for suffix in (".md", ".png"):
        output_file(args.out.with_suffix(suffix))
    with progress.status("train") as say:

        def warn(warning: str) -> None:
            say("")
            say_warning(one_line(warning))

        trained = train(
            photographs,
            args.out,
            start=args.start,
            context=args.context,
            progress=say,
            warn=warn,
        )
    if args.json:
        print(trained.as_json())
    else:
        _print_result(trained, args.out)
    return 0


def _print_result(trained: Trained, out: Path) -> None:
    """Print the cross-validation of each class and of all, the time, and the written files."""
    verdict = trained.verdict
    for label, row in zip(trained.classes, verdict.confusion):
        right = row[trained.classes.index(label)]
        print(one_line(f"{right:5} of {sum(row):4} right, {row[-1]:3} 'none of these'  {label}"))
    print(
        f"cross-validation: the most probable class is correct for {100 * verdict.accuracy:.1f} % of the photographs. "
        f"'none of these' is the answer to {100 * verdict.known_refused:.1f} % of them by mistake, and to "
        f"{100 * verdict.unknown_refused:.1f} % of images of other things"
    )
    wall_minutes, cpu_minutes = (seconds / 60 for seconds in trained.seconds)
    print(f"{out}: trained from {trained.start} in {wall_minutes:.1f} minutes ({cpu_minutes:.1f} minutes of CPU time)")
    print(f"{out.with_suffix('.md')}: its description; {out.with_suffix('.png')}: a sheet of the photographs")
