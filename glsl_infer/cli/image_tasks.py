"""Shared parts of ``detect``, ``landmarks`` and ``segment``: run a task on images; output as images, lines or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from glsl_infer.cli import arguments, batch, execution, progress
from glsl_infer.errors import ImageError
from glsl_infer.support.files import output_file
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from PIL import Image

    from glsl_infer.tasks import Task

NOTHING_FOUND = "nothing found"


class Show(NamedTuple):
    """The forms of a command's results.

    Attributes:
        words: returns a result as the end of a line.
        drawn: returns the image to write, from a result and the image's path.
        head: returns the columns of the table, from the opened task.
        rows: returns the rows of a result, in these columns; empty if nothing was found.
        suffix: suffix of images in ``--out-dir``; empty for that of the input image.
    """

    words: Callable[[Any], str]
    drawn: Callable[[Any, Path], Image.Image]
    head: Callable[[Any], Sequence[str]]
    rows: Callable[[Any], Sequence[Sequence[object]]]
    suffix: str = ""


def add_arguments(parser: argparse.ArgumentParser, tasks: Sequence[str], writes: str, row: str) -> None:
    """Declare the arguments.

    Args:
        parser: the parser of the command.
        tasks: the tasks of the command; the first is the default.
        writes: the content of the file of ``-o``.
        row: the content of the table.
    """
    arguments.add_images(parser)
    arguments.add_model(parser, "the model of the task")
    parser.add_argument(
        "--task",
        default=tasks[0],
        metavar="TASK",
        help=f"The task: {', '.join(tasks)}, or a file *.json of your own (default: {tasks[0]}).",
    )
    output = arguments.group(parser, "Output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help=f"Write {writes}. For one image.")
    batch.add_arguments(parser, row)
    output.add_argument("--always", action="store_true", help="Write images in which nothing was found, too.")
    arguments.add_context(parser)
    execution.add_selfcheck(parser)
    arguments.add_json(parser, "Print one JSON list: file, size and results of each image.")


def add_tiles(parser: argparse.ArgumentParser) -> None:
    """Declare the argument for small objects."""
    parser.add_argument(
        "--tiles",
        type=_tiles,
        default=1,
        metavar="N",
        help="Search N x N parts of the image as well, for small things. This takes N x N times longer (default: 1).",
    )


def _tiles(text: str) -> int:
    from glsl_infer.tasks.detection import MOST_TILES

    return arguments.number(int, f"1 to {MOST_TILES}", lambda tiles: 1 <= tiles <= MOST_TILES)(text)


def run(args: argparse.Namespace, task_class: Callable[..., Task[Any]], task: str, show: Show) -> int:
    """Process every image. Unreadable images are reported and skipped.

    Args:
        args: the arguments of the command.
        task_class: class of the task.
        task: name or file of the task.
        show: the forms of a result.

    Returns:
        The exit code.

    Raises:
        InputError: arguments are incompatible, or the task cannot be opened.
    """
    import numpy as np

    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import preprocess

    paths = arguments.images_of(args)
    files = batch.files_of(args, paths)
    if args.out is not None:
        images.format_of(args.out)
        output_file(args.out)
    results, present_count = [], 0
    with task_class(task, model=args.model, context=args.context) as opened:
        check(opened, args)

        def compute(path: Path) -> tuple[tuple[int, int], Any]:
            picture = preprocess.open_image(path)
            return picture.size, opened(picture)

        with batch.opened(args, paths, files, ["found", *show.head(opened)]) as many:
            for path, (size, result) in many.results(compute):
                opened.session.context.gl.check(f"at {path}")
                present_count += result.present
                words = show.words(result) if result.present else NOTHING_FOUND
                if result.present or args.always:
                    target = many.target(path, show.suffix)
                    if target is not None:
                        images.save(np.asarray(show.drawn(result, path)), target)
                elif args.out is not None:
                    words += f"; {args.out} is not written (--always writes it)"
                rows = show.rows(result) if result.present else []
                for row in rows or [[]]:
                    many.row([path, "", len(rows), *row])
                if args.json:
                    width, height = size
                    results.append({"file": str(path), "width": width, "height": height, **result.as_json()})
                elif args.csv is None:
                    print(one_line(f"{path}: {words}"))
    if args.json:
        print(json.dumps(results, indent=1))
    else:
        many.summary(f"something found in {present_count}")
    return ImageError.exit_code if many.failed else 0


def check(task: Task[Any], args: argparse.Namespace) -> None:
    """Run the driver's self-check with each model of a task, if required.

    Raises:
        SelfCheckError: a layer is wrong.
    """
    if not args.no_selfcheck:
        for session in task.sessions:
            progress.first_use(session)
