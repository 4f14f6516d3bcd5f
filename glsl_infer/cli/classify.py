"""Say what is on pictures: the most probable labels, best first."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.cli import execution, pictures, progress
from glsl_infer.errors import ImageError, InputError
from glsl_infer.gl.context import CHOICES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGE", help="picture files, or folders of them")
    parser.add_argument("--model", type=Path, help="a .glslnn file (default: the model that comes with the package)")
    parser.add_argument("--top", type=int, default=5, help="labels a picture (default: 5)")
    parser.add_argument("--context", choices=CHOICES, default="auto", help="how to get at the GPU (default: auto)")
    parser.add_argument("--json", action="store_true", help="print one JSON list: file and predictions of each picture")
    execution.add_selfcheck(parser)
    parser.add_argument(
        "--window",
        action="store_true",
        help="show the pictures with their labels in a window as well: right, space or n is the next picture, left, "
        "backspace or p the one before, q or escape the end",
    )
    parser.add_argument(
        "--screenshot",
        type=Path,
        metavar="FILE.png",
        help="with --window and one picture: write what the window shows, and close it",
    )


def run(args: argparse.Namespace) -> int:
    """Classify every picture; one that cannot be read is reported and the others go on."""
    from glsl_infer.classifier import Classifier, Prediction

    if TYPE_CHECKING:
        from glsl_infer.pipeline import PendingFrame

    if args.top < 1:
        raise InputError(f"--top {args.top}; at least 1 is possible")
    if args.screenshot is not None and not args.window:
        raise InputError("--screenshot shows a window; give --window as well")
    files = pictures.find(args.images)

    def report(path: Path, predictions: list[Prediction]) -> None:
        if len(files) > 1:
            print(f"{path}:")
        for one in predictions:
            print(f"{100 * one.probability:6.2f} %  {one.label}")

    if args.window:
        from glsl_infer.cli import viewer

        return viewer.run(args, files, report)
    results = []
    failed = 0
    with Classifier(args.model, context=args.context) as classifier:
        if not args.no_selfcheck:
            progress.first_use(classifier.session)

        def finish(path: Path, frame: PendingFrame) -> None:
            predictions = classifier.rank(frame.result(), args.top)
            if args.json:
                results.append({"file": str(path), "predictions": [asdict(one) for one in predictions]})
            else:
                report(path, predictions)

        # While the GPU computes one picture, the CPU decodes the next.
        waiting: tuple[Path, PendingFrame] | None = None
        for path in progress.bar(files, "pictures"):
            try:
                started = (path, classifier.start(path))
            except ImageError as error:
                if args.debug:
                    raise
                failed += 1
                print(f"error: {error}", file=sys.stderr)
                continue
            if waiting is not None:
                finish(*waiting)
            waiting = started
        if waiting is not None:
            finish(*waiting)
    if args.json:
        print(json.dumps(results, indent=1))
    return ImageError.exit_code if failed else 0
