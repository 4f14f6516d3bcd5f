"""Classify images: print the most probable labels, best first."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from glsl_infer.cli import arguments, execution, model_options, progress
from glsl_infer.cli.terminal_text import print_result, say_error
from glsl_infer.errors import ImageError, InputError
from glsl_infer.runtime.none_of_these import NONE
from glsl_infer.runtime.pictures import paths as pictures
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from glsl_infer.runtime.classifier import Classifier, Prediction
    from glsl_infer.runtime.pipeline import PendingFrame
    from glsl_infer.runtime.transfers import Results

Classified = Union["list[Prediction]", ImageError]
"""The predictions for an image, or the reason why it cannot be read."""

EXAMPLES = (
    "glsl-infer classify photo.jpg",
    "glsl-infer classify model.glslnn photos/ --top 1 --csv labels.csv",
    "glsl-infer classify photo.jpg --window",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add_images(parser)
    arguments.add_model(parser)
    parser.add_argument(
        "--top", type=arguments.count, default=5, metavar="N", help="The number of labels per image (default: 5)."
    )
    execution.add_threshold(parser)
    output = arguments.group(parser, "Output")
    output.add_argument(
        "--csv",
        type=Path,
        metavar="FILE.csv",
        help="Write a row for each image (file, error, labels with their probabilities) instead of printing it.",
    )
    output.add_argument(
        "--window",
        action="store_true",
        help="Show the images with their labels in a window as well. Right, space or n shows the next image, left, "
        "backspace or p the previous one, and q or escape ends.",
    )
    output.add_argument(
        "--screenshot",
        type=Path,
        metavar="FILE.png",
        help="With --window and one image, write the content of the window and close it.",
    )
    arguments.add_context(parser)
    execution.add_selfcheck(parser)
    model_options.add_operator(parser)
    execution.add_signature(parser)
    arguments.add_json(parser, "Print one JSON list with the file and the predictions of each image.")


def run(args: argparse.Namespace) -> int:
    """Classify every image. Unreadable images are reported and skipped."""
    execution.check_signature(args)
    model_options.load_operators(args.operator, draws=True)
    execution.check_window(args)
    if args.window and args.csv is not None:
        raise InputError("--window and --csv cannot be used together; leave one out")
    if args.csv is not None:
        from glsl_infer.cli.table_file import check_table

        check_table(args.csv)
    files = pictures.find(arguments.images_of(args))
    print_labels = partial(_print_predictions, with_file_name=len(files) > 1)
    if args.window:
        from glsl_infer.cli import viewer

        return viewer.run(args, files, print_labels)
    results: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    failed = 0
    prints = args.csv is None and not args.json
    with _classifier(args) as classifier, _table(args, len(classifier.labels)) as write:
        for path, result in _classified(classifier, files, args):
            if write is not None:
                write(path, result)
            if isinstance(result, ImageError):
                failed += 1
                continue
            counts[result[0].label] += 1
            if args.json:
                results.append({"file": str(path), "predictions": [vars(prediction) for prediction in result]})
            if prints:
                print_labels(path, result)
        if prints and counts[NONE]:
            _print_label_count(args, classifier.labels)
    if args.csv is not None:
        data = {"csv": str(args.csv), "pictures": len(files), "unreadable": failed, "first": counts}
        lines = [f"{args.csv}: {len(files)} image{'s' * (len(files) != 1)}, {failed} cannot be read"]
        print_result(args, data, [*lines, *(f"{count:8}  {label}" for label, count in counts.most_common())])
    elif args.json:
        print(json.dumps(results, indent=1))
    return ImageError.exit_code if failed else 0


def _print_predictions(path: Path, predictions: Sequence[Prediction], *, with_file_name: bool) -> None:
    if with_file_name:
        print(f"{one_line(path)}:")
    for prediction in predictions:
        print(prediction)


def _print_label_count(args: argparse.Namespace, labels: Sequence[str]) -> None:
    """Print the number of labels in the model, and the command that lists them."""
    import shlex

    label_count = sum(label != NONE for label in labels)
    command = " ".join(["glsl-infer labels", *([shlex.quote(str(args.model))] if args.model else [])])
    print(f"'{NONE}': not one of the {label_count} labels that this model knows; {command} lists them", file=sys.stderr)


@contextmanager
def _table(args: argparse.Namespace, labels: int) -> Iterator[Callable[[Path, Classified], None] | None]:
    """Yield a function that writes a row of ``--csv``; None without it."""
    if args.csv is None:
        yield None
        return
    from glsl_infer.cli.table_file import label_cells, label_columns, open_table

    with open_table(args.csv, ["file", "error", *label_columns(min(args.top, labels))]) as table:

        def write(path: Path, result: Classified) -> None:
            if isinstance(result, ImageError):
                table.write([path, str(result).replace(f"{path}: ", "", 1)])
            else:
                table.write([path, "", *label_cells(result)])

        yield write


@contextmanager
def _classifier(args: argparse.Namespace) -> Iterator[Classifier]:
    """Yield the classifier after the driver's self-check."""
    from glsl_infer.runtime import classifier as classifiers

    with classifiers.Classifier(args.model, context=args.context, threshold=args.threshold) as classifier:
        if not args.no_selfcheck:
            progress.first_use(classifier.session)
        yield classifier


def _classified(
    classifier: Classifier, files: Sequence[Path], args: argparse.Namespace
) -> Iterator[tuple[Path, Classified]]:
    """Yield the predictions for each image, or the error if it is unreadable. The error is also printed.

    The CPU decodes the next image while the GPU computes one. At most two are in memory, for any number of images.
    """

    def finished(path: Path, frame: PendingFrame[Results]) -> tuple[Path, list[Prediction]]:
        output = frame.result()
        classifier.session.context.gl.check(f"at {path}")  # a lost context would return arbitrary values
        return path, classifier.rank(output, args.top)

    waiting: tuple[Path, PendingFrame[Results]] | None = None
    for path in progress.bar(files, "images", "classify"):
        try:
            started = (path, classifier.start(path))
        except ImageError as error:
            if args.debug:
                raise
            say_error(one_line(error))
            if waiting is not None:
                yield finished(*waiting)
                waiting = None
            yield path, error
            continue
        if waiting is not None:
            yield finished(*waiting)
        waiting = started
    if waiting is not None:
        yield finished(*waiting)
