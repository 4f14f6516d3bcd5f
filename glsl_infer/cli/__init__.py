"""The command line: ``glsl-infer``, and ``classify`` as a shorthand.

Exit codes: 0 success, 1 failure, 2 invalid arguments or input files. Results go to standard output, messages and
progress to standard error.
"""

from __future__ import annotations

import importlib
import sys

from glsl_infer.cli import interrupts
from glsl_infer.support import fast_start

TYPE_CHECKING = False  # slow imports are inside functions: until main runs, Ctrl-C would show a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence

    from glsl_infer.cli.execution import Parser

CHAPTERS = {
    "Use a model": ("classify", "detect", "landmarks", "segment", "camera", "run", "labels", "get"),
    "Make or convert a model": ("export", "inspect", "validate", "calibrate", "collect", "train", "deploy"),
    "Measure and check": (
        *("doctor", "benchmark", "selfcheck", "info", "report", "vc4", "aibench"),
        *("completion", "manual"),
    ),
}
"""Commands by their group in the help."""

FAST_START = CHAPTERS["Use a model"]
"""Commands with ``fast_start``. Others can import frameworks that use all of NumPy."""

VERSION = "Show the version."

COMMANDS = tuple(sorted(name for names in CHAPTERS.values() for name in names))
"""Commands, each a module of this package. Only the requested one is imported: a Pi Zero is slow."""


def parser_of(names: Sequence[str], *, listed: bool = False) -> Parser:
    """Return the parser of ``glsl-infer`` with some of the commands.

    Args:
        names: names of the commands.
        listed: only list the commands, with the first line of each module. None of the modules is imported.
    """
    from glsl_infer import __version__
    from glsl_infer.cli.execution import Parser, add_debug, usage_of

    parser = Parser(
        prog="glsl-infer",
        usage="glsl-infer COMMAND ...",
        description="Run neural networks on OpenGL ES 2.0 GPUs, as fragment shaders.",
        epilog="For the options of a command: glsl-infer COMMAND --help",
    )
    parser.chapters = CHAPTERS
    parser.add_argument("-V", "--version", action="version", version=f"glsl-infer {__version__}", help=VERSION)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="glsl-infer")
    for name in names:
        if listed:
            commands.add_parser(name, help=_summary(name))
            continue
        module = importlib.import_module(f"{__name__}.{name}")
        summary = (module.__doc__ or "").partition("\n")[0]
        sub = commands.add_parser(name, help=summary, description=summary)
        module.add_arguments(sub)
        add_debug(sub)
        sub.examples, sub.usage = module.EXAMPLES, usage_of(sub, f"glsl-infer {name}")
        sub.set_defaults(run=module.run)
    return parser


def _summary(name: str) -> str:
    """Return the first line of a command's docstring, which is the first line of its file."""
    from pathlib import Path

    with Path(__file__).with_name(f"{name}.py").open(encoding="utf-8") as file:
        return file.readline().strip().strip('"')


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``glsl-infer``; return the exit code."""
    with interrupts.ending_at_once():
        from glsl_infer.cli.advice import models_anywhere
        from glsl_infer.cli.execution import execute, missing_package
        from glsl_infer.cli.terminal_text import guarded

        words = models_anywhere(sys.argv[1:] if argv is None else argv) or ["--help"]
        command = next((word for word in words if not word.startswith("-")), None)
        if command in FAST_START:
            fast_start.begin()
        try:
            parser = parser_of((command,)) if command in COMMANDS else parser_of(COMMANDS, listed=True)
        except ModuleNotFoundError as error:
            return missing_package(error)
        with guarded():
            return execute(parser, words)


def classify_parser() -> Parser:
    """Return the parser of ``classify``."""
    from glsl_infer import __version__
    from glsl_infer.cli import classify
    from glsl_infer.cli.execution import Parser, add_debug, usage_of

    parser = Parser(prog="classify", description=(classify.__doc__ or "").partition("\n")[0])
    parser.add_argument("-V", "--version", action="version", version=f"classify {__version__}", help=VERSION)
    classify.add_arguments(parser)
    add_debug(parser)
    parser.examples = [example.removeprefix("glsl-infer ") for example in classify.EXAMPLES]
    parser.usage = usage_of(parser, "classify")
    parser.set_defaults(run=classify.run, command="classify")
    return parser


def main_classify(argv: Sequence[str] | None = None) -> int:
    """Run ``classify``, the shorthand of ``glsl-infer classify``; return the exit code."""
    with interrupts.ending_at_once():
        from glsl_infer.cli.advice import models_anywhere
        from glsl_infer.cli.execution import execute, missing_package
        from glsl_infer.cli.terminal_text import guarded

        fast_start.begin()
        try:
            parser = classify_parser()
        except ModuleNotFoundError as error:
            return missing_package(error)
        words = models_anywhere(["classify", *(sys.argv[1:] if argv is None else argv)])[1:]
        with guarded():
            return execute(parser, words)
