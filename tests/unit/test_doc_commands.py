"""Every command in README.md, docs/ and the other pages is one: its arguments are valid, what it names is there."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys

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


@pytest.mark.slow
@pytest.mark.parametrize("script", PYTHON)
def test_the_script_takes_it(script: str) -> None:
    """Those of training/ import TensorFlow, so that each has a process of its own."""
    given = [one for one in ALL if script_of(one) == script and not (one.inline and not arguments_of(one))]
    if not given:
        return
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/parse_only.py"), script],
        input=json.dumps([arguments_of(one) for one in given]),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    problems = dict(zip(map(str, given), json.loads(done.stdout.splitlines()[-1])))
    assert not {line: problem for line, problem in problems.items() if problem}


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
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/parse_only.py"), "scripts/get-data"],
        input='[["trashnet", "data/trashnet"], ["trashnet", "data/trashnet", "--fast"], []]',
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    fine, *problems = json.loads(done.stdout)
    assert fine is None
    assert "unrecognized arguments: --fast" in problems[0]
    assert "the following arguments are required" in problems[1]
