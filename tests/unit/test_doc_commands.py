"""Every command in README.md, docs/ and the other pages is one: its arguments are valid, what it names is there."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence

import contributing
import pytest
from pages import PAGES, ROOT, Command, commands

from glsl_infer.cli import COMMANDS

ALL = [one for page in PAGES for one in commands(page)]
MODULES = {name: importlib.import_module(f"glsl_infer.cli.{name}") for name in COMMANDS}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")

MADE = ("models/grocery-x22-385.", "android/build/", "build/", *contributing.FILES)
"""What begins so is written by what stands around it, and need not be in the repository."""


def arguments_of(one: Command) -> tuple[str, ...]:
    """What follows the program: ``glsl-infer COMMAND``, ``python SCRIPT`` or the program itself."""
    return one.words[2 if one.words[0] in ("glsl-infer", "python", "python3") else 1 :]


def script_of(one: Command) -> str:
    """The script of ours that a command runs, else an empty string."""
    word = one.words[1] if one.words[0] in ("python", "python3") and len(one.words) > 1 else one.words[0]
    return word if "/" in word and (ROOT / word).is_file() and word.rpartition("/")[0] != "tests" else ""


def of(*programs: str) -> list[Command]:
    return [one for one in ALL if one.words[0] in programs]


def test_all_kinds_are_found() -> None:
    shown = [one for one in ALL if not one.inline]
    assert {"glsl-infer", "classify", "make", "python", "pip"} <= {one.words[0] for one in shown}
    assert {"training/train.py", "scripts/get-data", "scripts/vc4/build.sh"} <= {script_of(one) for one in shown}


@pytest.mark.parametrize("one", of("glsl-infer", "classify"), ids=str)
def test_the_command_line_takes_it(one: Command) -> None:
    name = one.words[0] if one.words[0] == "classify" else "".join(one.words[1:2])
    if one.inline and not name:
        return
    parser = argparse.ArgumentParser(allow_abbrev=False)
    MODULES[name].add_arguments(parser)
    if one.inline:  # a sentence may leave out what the command works on
        options = {word.partition("=")[0] for word in arguments_of(one) if word.startswith("--")}
        assert options <= set(parser._option_string_actions), one
    else:
        parser.parse_args(arguments_of(one))  # exits where it cannot


@pytest.mark.parametrize("one", of("make"), ids=str)
def test_make_knows_the_targets(one: Command) -> None:
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    for word in one.words[1:]:
        name, _, value = word.partition("=")
        assert f"$({name})" in MAKEFILE if value else word in targets, word


SCRIPTS = sorted({script_of(one) for one in ALL if script_of(one)})
# One hands its arguments over to libFuzzer, and has no parser of its own.
PYTHON = [one for one in SCRIPTS if re.match(r"#!.*python(.*\n)*import argparse", (ROOT / one).read_text("utf-8"))]


def lines_of(script: str) -> list[Command]:
    """Return the commands that run a script, but those that only name it in a sentence."""
    return [one for one in ALL if script_of(one) == script and not (one.inline and not arguments_of(one))]


def parsed(lines: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, list[str | None]]:
    """Return what each script's parser has against each of its command lines, None where it takes it."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/parse_only.py")],
        input=json.dumps(lines),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def problems() -> dict[str, list[str | None]]:
    return parsed({script: [arguments_of(one) for one in lines_of(script)] for script in PYTHON})


@pytest.mark.slow
@pytest.mark.parametrize("script", PYTHON)
def test_the_script_takes_it(script: str, problems: dict[str, list[str | None]]) -> None:
    found = dict(zip(map(str, lines_of(script)), problems[script]))
    assert not {line: problem for line, problem in found.items() if problem}


@pytest.mark.parametrize("one", [one for one in ALL if script_of(one) and script_of(one) not in PYTHON], ids=str)
def test_a_shell_script_has_the_options(one: Command) -> None:
    text = (ROOT / script_of(one)).read_text("utf-8")
    assert all(word in text for word in arguments_of(one) if word.startswith("--")), one


@pytest.mark.parametrize("one", ALL, ids=str)
def test_what_it_names_in_the_repository_is_there(one: Command) -> None:
    """Other names, as photo.jpg, runs/trash or data/trashnet, are the reader's own."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("data", "runs", "layers")}
    for word in one.words:
        path = word.partition("=")[2] or word
        if path.partition("/")[0] in folders and "/" in path and not path.startswith(MADE):
            assert (ROOT / path).exists(), f"{one}: no {path}"


@pytest.mark.parametrize("one", [one for one in of("pip") if not one.inline or len(one.words) > 2], ids=str)
def test_the_extras_exist(one: Command) -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional-dependencies]")[2]
    known = set(re.findall(r"^(\w+) = \[", project.partition("\n[")[0], re.MULTILINE))
    for extras in re.findall(r"(?:glsl-infer|\.)\[([^\]]*)\]", " ".join(one.words)):
        assert set(extras.split(",")) <= known, one


def test_what_is_wrong_would_be_found() -> None:
    lines = [["trashnet", "data/trashnet"], ["trashnet", "data/trashnet", "--fast"], []]
    found = parsed({"scripts/get-data": lines, "scripts/no-such": [[]]})
    fine, *problems = found["scripts/get-data"]
    assert fine is None
    assert problems[0] and "unrecognized arguments: --fast" in problems[0]
    assert problems[1] and "the following arguments are required" in problems[1]
    assert "FileNotFoundError" in str(found["scripts/no-such"])
