"""Parses command lines for a script, and does nothing else with them; run as a process, as scripts import TensorFlow.

    python tests/parse_only.py SCRIPT < command-lines.json      # a list of lists of arguments

Prints a JSON list: for each command line what is wrong with it, or null.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

_parse = argparse.ArgumentParser.parse_args


class Parsed(BaseException):
    """The arguments are valid; nothing that follows is to happen."""


def parse_and_stop(parser: argparse.ArgumentParser, *args: Any, **options: Any) -> NoReturn:
    """Parse as always, then leave the script."""
    _parse(parser, *args, **options)
    raise Parsed


def problem(script: str, arguments: Sequence[str]) -> str | None:
    """Return what the script's own parser has against the arguments, if anything."""
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


if __name__ == "__main__":
    sys.path[0] = str(Path(sys.argv[1]).resolve().parent)  # where a script that is run looks for its neighbours
    print(json.dumps([problem(sys.argv[1], arguments) for arguments in json.load(sys.stdin)]))
