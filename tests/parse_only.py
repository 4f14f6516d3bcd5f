"""Parse the command lines of scripts without running them.

    python tests/parse_only.py < command-lines.json     # for each script a list of lists of arguments

The program prints a JSON object: for each script a list with the error of each command line, or null. Each script runs
in a fork of this process.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

_parse = argparse.ArgumentParser.parse_args


class Parsed(BaseException):
    """Raised after valid arguments, to end the script."""


def parse_and_stop(parser: argparse.ArgumentParser, *args: Any, **options: Any) -> NoReturn:
    """Parse the arguments, then leave the script."""
    _parse(parser, *args, **options)
    raise Parsed


def problem(script: str, arguments: Sequence[str]) -> str | None:
    """Return the error of the script's own parser, or None."""
    output = io.StringIO()
    arguments_given = mock.patch.object(sys, "argv", [script, *arguments])
    stopping = mock.patch.object(argparse.ArgumentParser, "parse_args", parse_and_stop)
    with arguments_given, stopping, contextlib.redirect_stderr(output):
        try:
            runpy.run_path(script, run_name="__main__")
        except Parsed:
            return None
        except SystemExit:
            return output.getvalue() or "it ended without a word"
    return "it parses no arguments"


def problems(script: str, lines: Sequence[Sequence[str]]) -> list[str | None]:
    """Return ``problem`` of each command line, computed in a fork; an exception there is the error of all lines."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        sys.path[0] = str(Path(script).resolve().parent)  # where Python looks for the neighbours of a script
        results: list[str | None]
        try:
            results = [problem(script, arguments) for arguments in lines]
        except BaseException:  # is reported to the test
            results = [traceback.format_exc()] * len(lines)
        with os.fdopen(writing, "w") as pipe:
            json.dump(results, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else ["its process ended without a word"] * len(lines)


if __name__ == "__main__":
    expected = json.load(sys.stdin)
    print(json.dumps({script: problems(script, lines) for script, lines in expected.items()}))
