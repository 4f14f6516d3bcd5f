"""The command line: ``glsl-infer COMMAND``, and ``classify`` as a shorthand.

Exit codes: 0 it worked, 1 it failed, 2 what was given cannot be used. Results go to standard output, messages
and progress to standard error.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from glsl_infer.cli import classify, export, info, run, vc4
from glsl_infer.errors import GlslInferError

COMMANDS = (classify, export, info, run, vc4)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``glsl-infer``; return the exit code."""
    from glsl_infer import __version__

    parser = Parser(
        prog="glsl-infer",
        description="Neural networks as OpenGL ES 2.0 fragment shaders.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"glsl-infer {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        name = module.__name__.rsplit(".", 1)[1]
        summary = (module.__doc__ or "").splitlines()[0]
        sub = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        module.add_arguments(sub)
        add_debug(sub)
        sub.set_defaults(run=module.run)
    return execute(parser, argv)


def main_classify(argv: Sequence[str] | None = None) -> int:
    """Run ``classify``, the shorthand of ``glsl-infer classify``; return the exit code."""
    parser = Parser(prog="classify", description=(classify.__doc__ or "").splitlines()[0], allow_abbrev=False)
    classify.add_arguments(parser)
    add_debug(parser)
    parser.set_defaults(run=classify.run)
    return execute(parser, argv)


def add_debug(parser: argparse.ArgumentParser) -> None:
    """Declare ``--debug``, which ``execute`` needs."""
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")


def execute(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Parse the arguments and call their ``run`` on them; whatever goes wrong becomes one line and an exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # file names and labels may have what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    debug = False
    try:
        try:
            args = parser.parse_args(argv)
            debug = args.debug
            code: int = args.run(args)
            return code
        finally:
            sys.stdout.flush()
    except GlslInferError as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        _drop_output()
        return 1
    except OSError as error:  # a full disk behind standard output, for one
        if debug:
            raise
        _drop_output()
        print(f"error: {error}", file=sys.stderr)
        return 1


def _drop_output() -> None:
    """Forget what standard output does not take: Python tries again at exit, and would report that as well."""
    try:
        sys.stdout.flush()
    except OSError:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
