"""Child processes of the project import nothing from the current folder."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from planted_modules import executed, plant

from glsl_infer.errors import InputError, RunError, together
from glsl_infer.support.child_process import ROOT, ChildProcess, error_of, exit_code_of, module_command

SOURCES = sorted(
    path for folder in ("glsl_infer", "training", "scripts", "android") for path in (ROOT / folder).rglob("*.py")
)
SAYS = "import json, sys; print(json.dumps([__name__, sys.argv, sys.path]))\n"


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with malicious modules in it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(plant(tmp_path / "here"))
    return tmp_path / "here"


def said_by(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_m_would_execute_them(working_folder: Path) -> None:
    """The attack works with plain ``python -m``; otherwise the other tests of this file would prove nothing."""
    subprocess.run([sys.executable, "-m", "json.tool"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert "json" in executed(working_folder)


def test_a_module_runs_as_the_main_one(working_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "says.py").write_text(SAYS)
    message = said_by(module_command("says", "a b", 7), PYTHONPATH=str(tmp_path))
    name, arguments, path = json.loads(message)
    assert name == "__main__"
    assert arguments == [str(tmp_path / "says.py"), "a b", "7"]
    assert "" not in path
    assert str(working_folder) not in path
    assert {str(ROOT), str(tmp_path)} <= set(path)
    assert executed(working_folder) == []


def test_the_command_line_runs(working_folder: Path) -> None:
    assert said_by(module_command("glsl_infer", "--version")).startswith("glsl-infer ")
    assert executed(working_folder) == []


def test_the_folder_of_this_package_comes_first_where_it_is_not_on_the_path(
    working_folder: Path, tmp_path: Path
) -> None:
    """Without an installed package, as in a checkout, its folder comes first: ``-S`` leaves out site-packages."""
    (tmp_path / "says.py").write_text(SAYS)
    start = module_command("says")
    _, _, path = json.loads(said_by([start[0], "-S", *start[1:]], PYTHONPATH=str(tmp_path)))
    assert path[:2] == [str(ROOT), str(tmp_path)]
    assert executed(working_folder) == []


def test_the_error_of_a_job_is_reported(working_folder: Path, tmp_path: Path) -> None:
    with ChildProcess("training.logits", {"engine": "none"}, tmp_path / "job", "computes") as process:
        assert list(process.lines()) == []
        with pytest.raises(RunError, match="the process that computes ended with exit code 1: KeyError"):
            process.finish()
    assert executed(working_folder) == []


def test_all_problems_of_a_list_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    problems = together([InputError("layer 'a': open"), InputError("layer 'b': unknown")])

    def work() -> None:
        raise problems

    assert exit_code_of(work) == InputError.exit_code
    assert error_of(f"warning: a log\n{capsys.readouterr().err}") == str(problems)
    assert error_of("error: before\nTraceback:\n  File\nKeyError: 1\n") == "KeyError: 1"


@pytest.mark.slow
def test_an_operator_of_the_current_folder_shadows_no_package(working_folder: Path) -> None:
    (working_folder / "mine.py").write_text("def twice(x):\n    return 2 * x\n")
    command = module_command("glsl_infer", "inspect", ROOT / "tests/conformance/cpu-parts.glslnn")
    assert said_by([*command, "--operator", "mine:twice"])
    assert executed(working_folder) == []


def started(path: Path) -> Iterator[int]:
    """Yield the lines of a file that start this Python with ``-m`` or ``-c``."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if "sys.executable" in text else ():
        words = [ast.unparse(word) for word in node.elts] if isinstance(node, (ast.List, ast.Tuple)) else []
        if "sys.executable" in words and {"'-m'", "'-c'"} & set(words):
            yield node.lineno


@pytest.mark.slow
def test_every_child_is_started_so() -> None:
    starting = {path.relative_to(ROOT).as_posix() for path in SOURCES if list(started(path))}
    assert starting == {
        "glsl_infer/support/child_process.py",
        "android/toolchain.py",
        "scripts/debian_root/system_root.py",
        "scripts/bench/mutate.py",
        "scripts/build/release.py",
    }  # the last four do not import glsl_infer


def test_enjarify_is_started_so(working_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "android"))
    from toolchain import ENJARIFY

    (tmp_path / "packages/enjarify").mkdir(parents=True)
    (tmp_path / "packages/enjarify/main.py").write_text(SAYS)
    command = [sys.executable, "-O", "-c", ENJARIFY, str(tmp_path / "packages"), "-f"]
    name, arguments, path = json.loads(said_by(command))
    assert (name, arguments[1:]) == ("__main__", ["-f"])
    assert path[0] == str(tmp_path / "packages")
    assert "" not in path
    assert executed(working_folder) == []
