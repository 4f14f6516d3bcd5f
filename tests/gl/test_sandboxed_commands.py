"""Each command that draws a file lets a child process draw it first, and a new command does so too."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import needs
import numpy as np
import pytest
import red_squares
import tiny
from pages import ROOT
from PIL import Image

from glsl_infer import cli
from glsl_infer.errors import RunError
from glsl_infer.runtime import isolation, sandbox_mode, session
from glsl_infer.tools.aibench import bundles
from glsl_infer.tools.report import collect, counters
from glsl_infer.tools.validate import compare

DRAWING: dict[str, tuple[str, ...]] = {
    "aibench": ("--only 4 --quick --models .",),
    "benchmark": ("tiny.glslnn --runs 1", "tiny.glslnn --profile", "--compare tiny.glslnn tiny.glslnn --runs 1"),
    "camera": (
        "--source . --model tiny.glslnn --frames 1",
        "--source . --model tiny.glslnn --frames 1 --serve 0",
        "--source . --task squares.json --frames 1",
    ),
    "classify": ("picture.png --model tiny.glslnn", "picture.png picture.png --model tiny.glslnn --no-selfcheck"),
    "detect": ("picture.png --task squares.json",),
    "doctor": ("tiny.glslnn",),
    "inspect": ("tiny.glslnn --layers picture.png --out layers",),
    "landmarks": ("picture.png --task sides.json",),
    "report": ("tiny.glslnn -o report.json --minutes 0.01",),
    "run": ("tiny.glslnn picture.png -o out.npz", "tiny.glslnn . --out-dir out"),
    "segment": ("picture.png --task mask.json -o out.png",),
    "selfcheck": ("tiny.glslnn",),
    "train": ("photos -o mine.glslnn --start tiny.glslnn",),
    "validate": ("model.tflite tiny.glslnn --images .",),
}
"""Arguments of each command that draws a file in this process."""

COMMANDS_WITHOUT_DRAWING = {
    **dict.fromkeys(("calibrate", "export", "labels", "deploy"), "reads files, and draws nothing"),
    **dict.fromkeys(("collect", "completion", "get", "info", "manual"), "opens no file of a model"),
    "vc4": "draws in processes of its own, which are restricted: tests/vc4/test_measure.py",
}


def test_each_command_has_a_sandbox_mode() -> None:
    assert {*DRAWING, *COMMANDS_WITHOUT_DRAWING} == set(cli.COMMANDS)
    assert not DRAWING.keys() & COMMANDS_WITHOUT_DRAWING.keys()


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[sandbox_mode.SandboxMode]:
    """The modes of all sandboxes. Each fails, and a session that goes on without one draws nothing."""
    result: list[sandbox_mode.SandboxMode] = []

    def run_sandboxed(_: object, __: object, mode: sandbox_mode.SandboxMode) -> None:
        result.append(mode)
        raise RunError("in the sandbox")

    def drawn(*_: object) -> None:
        raise AssertionError("drawn outside of the sandbox")

    def answer(module: str, *arguments: str, seconds: float) -> dict[str, Any]:
        if module == counters.__name__:
            with pytest.raises(RunError, match="in the sandbox"):
                counters.counters(*arguments)
        else:
            cli.main(list(arguments))
        return {"failed": f"in less than {seconds} s"}

    def in_framework(_: object, comparison: Any, folder: Path, *__: object) -> dict[str, Any]:
        np.save(folder / compare.outputs_file(0), np.zeros((len(comparison.samples), 3), np.float32))
        return {"layers": [], "softmax": {}}

    monkeypatch.setattr(isolation, "run_sandboxed", run_sandboxed)
    monkeypatch.setattr(session.Session, "_prepared", drawn)
    monkeypatch.setattr(bundles, "bundle_of", lambda *_: tmp_path / "tiny.glslnn")
    monkeypatch.setattr(collect, "json_answer", answer)
    monkeypatch.setattr(compare, "_in_framework", in_framework)
    monkeypatch.chdir(tmp_path)
    tiny.write_tiny(tmp_path)
    (tmp_path / "model.tflite").write_bytes(bytes(16))
    for folder in (tmp_path, tmp_path / "photos/one", tmp_path / "photos/two"):
        folder.mkdir(parents=True, exist_ok=True)
        for index in range(5):
            Image.new("RGB", (32, 32), (40 * index, 9, 9)).save(folder / f"{index}.png")
    (tmp_path / "0.png").rename(tmp_path / "picture.png")
    return result


@pytest.mark.parametrize("line", [f"{name} {line}" for name, lines in DRAWING.items() for line in lines])
def test_a_command_draws_in_the_sandbox_first(line: str, modes: list[sandbox_mode.SandboxMode], tmp_path: Path) -> None:
    command, *arguments = line.split()
    if command == "aibench":
        needs.installed("tensorflow")
    if "--task" in arguments:
        red_squares.folder_of_tasks(tmp_path)
    parser = cli.parser_of((command,))
    always = "--isolated" in parser._subparsers._group_actions[0].choices[command].format_help()  # type: ignore[union-attr]
    for more, mode in (((), "first"), (("--isolated",), True))[: 1 + always]:
        modes.clear()
        assert cli.main([command, *arguments, *more]) in (0, 1)
        assert set(modes) == {mode}
    assert sandbox_mode.default() is False


def test_tools_use_the_sandbox_mode_of_their_command() -> None:
    """The argument ``isolated`` is for programs of users; tools get the mode of their command."""
    chosen = set()
    for path in sorted((ROOT / "glsl_infer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and any(keyword.arg == "isolated" for keyword in node.keywords):
                chosen.add(path.relative_to(ROOT / "glsl_infer").as_posix())
    assert chosen == {"runtime/classifier.py", "tasks/task.py", "tools/report/counters.py"}
