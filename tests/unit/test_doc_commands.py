"""Every command in README.md, docs/ and the other pages has valid arguments and names existing files."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import contributing
import pytest
from command_line import run_python
from pages import PAGES, ROOT, Command, arguments_of, commands, has_parser, script_lines, script_of

from glsl_infer.cli import COMMANDS
from glsl_infer.cli.advice import models_anywhere

ALL = [command for page in PAGES for command in commands(page)]
MODULES = {name: importlib.import_module(f"glsl_infer.cli.{name}") for name in COMMANDS}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")

BUILT = ("models/grocery-x22-385.", "android/build/", "build/", *contributing.FILES)
"""Prefixes of paths written by documented commands and not required in the repository."""


def test_all_kinds_are_found() -> None:
    blocks = [command for command in ALL if not command.inline]
    assert {"glsl-infer", "classify", "make", "python", "pip"} <= {command.words[0] for command in blocks}
    assert {"training/train.py", "scripts/get-data", "scripts/vc4/build.sh"} <= {
        script_of(command) for command in blocks
    }


def of_command_line(command: Command) -> str:
    """Return the fault of a command line of ``glsl-infer`` or ``classify``, or an empty string."""
    name = command.words[0] if command.words[0] == "classify" else "".join(command.words[1:2])
    if command.inline and not name:
        return ""
    if name not in MODULES:
        return f"no command {name}"
    parser = argparse.ArgumentParser(allow_abbrev=False)
    MODULES[name].add_arguments(parser)
    if command.inline:  # a sentence can omit the required arguments
        options = {word.partition("=")[0] for word in arguments_of(command) if word.startswith("--")}
        return " ".join(options - set(parser._option_string_actions))
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            parser.parse_args(models_anywhere([name, *arguments_of(command)])[1:])
    except SystemExit:
        return printed.getvalue().splitlines()[-1]
    return ""


def of_make(command: Command) -> str:
    """Return the targets and variables missing from the Makefile."""
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    targets.update(word for line in re.findall(r"^([\w -]+):", MAKEFILE, re.MULTILINE) for word in line.split())
    pairs = [(word, *word.partition("=")[::2]) for word in command.words[1:]]
    return " ".join(word for word, name, value in pairs if not (f"$({name})" in MAKEFILE if value else word in targets))


def of_shell_script(command: Command) -> str:
    """Return the options missing from the text of a script without a parser."""
    text = (ROOT / script_of(command)).read_text("utf-8")
    return " ".join(word for word in arguments_of(command) if word.startswith("--") and word not in text)


def of_pip(command: Command) -> str:
    """Return the extras missing from the project."""
    project = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional-dependencies]")[2]
    keys = set(re.findall(r"^(\w+) = \[", project.partition("\n[")[0], re.MULTILINE))
    named = re.findall(r"(?:glsl-infer|\.)\[([^\]]*)\]", " ".join(command.words))
    return " ".join({extra for extras in named for extra in extras.split(",")} - keys)


def of_files(command: Command) -> str:
    """Return the missing files. Other names, as photo.jpg, runs/trash or data/trashnet, are the reader's own."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("data", "runs", "layers")}
    paths = [word.partition("=")[2] or word for word in command.words]
    ours = [path for path in paths if "/" in path and path.partition("/")[0] in folders and not path.startswith(BUILT)]
    return " ".join(path for path in ours if not (ROOT / path).exists())


def fault(command: Command) -> str:
    """Return the fault of a command, or an empty string."""
    program = command.words[0]
    if program in ("glsl-infer", "classify"):
        result = of_command_line(command)
    elif program == "make":
        result = of_make(command)
    elif program == "pip":
        result = of_pip(command)
    else:
        result = of_shell_script(command) if script_of(command) and not has_parser(script_of(command)) else ""
    return result or of_files(command)


def parsed(lines: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str | None]]:
    """Return the error of each script's parser for each of its command lines, or None if the line is valid."""
    done = run_python(ROOT / "tests/parse_only.py", text=json.dumps(lines), folder=ROOT, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page(page: Path) -> None:
    results = {str(command): fault(command) for command in commands(page)}
    assert {command: problem for command, problem in results.items() if problem} == {}


@pytest.mark.slow
def test_scripts_take_their_arguments() -> None:
    """Scripts in training/ import Keras and have the same test in tests/training."""
    lines = {script: commands for script, commands in script_lines().items() if not script.startswith("training/")}
    problems = parsed({script: [arguments_of(command) for command in commands] for script, commands in lines.items()})
    results = {str(command): problem for script in lines for command, problem in zip(lines[script], problems[script])}
    assert {command: problem for command, problem in results.items() if problem} == {}


@pytest.mark.parametrize(
    "line",
    [
        "glsl-infer clasify a.jpg",
        "glsl-infer classify a.jpg --tpo 3",
        "make tset",
        "make test JOBBS=1",
        "pip install .[trian]",
        "scripts/system-packages --all-of-them",
        "glsl-infer classify docs/images/none.jpg",
    ],
)
def test_a_wrong_command_is_found(line: str) -> None:
    assert fault(Command("page.md", tuple(line.split()), False))


def test_wrong_commands_are_found() -> None:
    lines = [["trashnet", "data/trashnet"], ["trashnet", "data/trashnet", "--fast"], []]
    result = parsed({"scripts/get-data": lines, "scripts/no-such": [[]]})
    fine, *problems = result["scripts/get-data"]
    assert fine is None
    assert problems[0] and "unrecognized arguments: --fast" in problems[0]
    assert problems[1] and "the following arguments are required" in problems[1]
    assert "FileNotFoundError" in str(result["scripts/no-such"])
