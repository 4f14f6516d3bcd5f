"""What ``detect``, ``landmarks`` and ``segment`` share: pictures through a task, drawn, or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glsl_infer.cli import arguments, execution, progress
from glsl_infer.cli.terminal_text import say_error
from glsl_infer.errors import ImageError, InputError
from glsl_infer.support.files import output_file
from glsl_infer.support.plain_text import one_line

if TYPE_CHECKING:
    from PIL import Image

    from glsl_infer.tasks import Task

Drawn = Callable[[Any, Path], "Image.Image"]
"""Makes the picture to write, of a result and the picture that it is about."""


def add_arguments(parser: argparse.ArgumentParser, tasks: Sequence[str], writes: str) -> None:
    """Declare the arguments.

    Args:
        parser: of the command.
        tasks: the tasks of the command; the first is the default.
        writes: the content of the file of ``-o``.
    """
    arguments.add_images(parser)
    arguments.add_model(parser, "the model of the task")
    parser.add_argument(
        "--task",
        default=tasks[0],
        metavar="TASK",
        help=f"The task: {', '.join(tasks)}, or a file *.json of your own (default: {tasks[0]}).",
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help=f"Write {writes}. For one image.")
    arguments.add_context(parser)
    execution.add_selfcheck(parser)
    arguments.add_json(parser, "Print one JSON list: file, size and results of each image.")


def add_tiles(parser: argparse.ArgumentParser) -> None:
    """Declare the argument for small things."""
    parser.add_argument(
        "--tiles",
        type=_tiles,
        default=1,
        metavar="N",
        help="Search N x N parts of the image as well, for small things. This takes N x N times longer (default: 1).",
    )


def _tiles(text: str) -> int:
    from glsl_infer.tasks.detection import MOST_TILES

    if not text.isdecimal() or not 1 <= int(text) <= MOST_TILES:
        raise argparse.ArgumentTypeError(f"{text}; give 1 to {MOST_TILES}")
    return int(text)


def run(
    args: argparse.Namespace, kind: Callable[..., Task[Any]], task: str, words: Callable[[Any], str], drawn: Drawn
) -> int:
    """Look at every picture; one that cannot be read is reported and the others go on.

    Args:
        args: the command's.
        kind: of the task.
        task: its name or file.
        words: says in a line what was found.
        drawn: makes the picture to write.

    Returns:
        The exit code.

    Raises:
        InputError: the arguments do not go together, or the task cannot be opened.
    """
    import numpy as np

    from glsl_infer.runtime import images
    from glsl_infer.runtime.pictures import paths, preprocess

    files = paths.find(arguments.images_of(args))
    if args.out is not None:
        if len(files) != 1:
            raise InputError(f"--out {args.out} is one picture, and {len(files)} were given; give one, or leave it out")
        images.format_of(args.out)
        output_file(args.out)
    results, failed = [], 0
    with kind(task, model=args.model, context=args.context) as opened:
        check(opened, args)
        for path in progress.bar(files, "pictures"):
            try:
                picture = preprocess.open_image(path)
            except ImageError as error:
                if args.debug:
                    raise
                failed += 1
                say_error(one_line(error))
                continue
            result = opened(picture)
            opened.session.context.gl.check(f"at {path}")
            if args.out is not None:
                images.save(np.asarray(drawn(result, path)), args.out)
            if args.json:
                size = {"width": picture.width, "height": picture.height}
                results.append({"file": str(path), **size, **result.as_json()})
            else:
                print(one_line(f"{path}: {words(result)}"))
    if args.json:
        print(json.dumps(results, indent=1))
    return ImageError.exit_code if failed else 0


def check(task: Task[Any], args: argparse.Namespace) -> None:
    """Check the driver with each model of a task where that is due.

    Raises:
        SelfCheckError: a layer comes out wrong.
    """
    if not args.no_selfcheck:
        for session in task.sessions:
            progress.first_use(session)
