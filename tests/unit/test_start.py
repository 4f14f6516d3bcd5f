"""Imports at start: only modules of the given command, and no library before the command needs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from glsl_infer.cli import COMMANDS
from glsl_infer.support.child_process import ROOT

PROGRAM = """
import contextlib, io, json, sys
from glsl_infer.cli import main
with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps([text.getvalue(), sorted(sys.modules)]))
"""


def started(*words: str) -> tuple[str, set[str]]:
    """Return the output of a start and the modules that it imports."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=True, cwd=ROOT, timeout=120
    )
    text, modules = json.loads(done.stdout)
    return text, set(modules)


def commands_in(modules: set[str]) -> set[str]:
    return {name for name in COMMANDS if f"glsl_infer.cli.{name}" in modules}


@pytest.mark.parametrize("words", [["--version"], ["--help"], []])
def test_a_list_of_commands_imports_no_command(words: list[str]) -> None:
    text, modules = started(*words)
    assert "glsl-infer" in text
    assert commands_in(modules) == set()
    assert modules.isdisjoint({"numpy", "PIL", "ctypes", "OpenGL", "difflib"})
    rooms = {name.split(".")[1] for name in modules if name.startswith("glsl_infer.")}
    assert rooms <= {"cli", "errors", "gl", "support"}, "gl.ways has the names of contexts"
    if words != ["--version"]:
        assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("command", ["classify", "run", "detect", "get", "labels"])
def test_one_command_is_imported(command: str) -> None:
    text, modules = started(command, "--help")
    assert f"usage: glsl-infer {command}" in text
    assert commands_in(modules) == {command}
    assert modules.isdisjoint({"numpy", "PIL", "ctypes", "OpenGL"})
