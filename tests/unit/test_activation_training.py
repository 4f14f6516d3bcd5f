"""scripts/activation_training.py: runs that are complete are read, others made, and a failure is told in words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import activation_training  # noqa: E402
from activation_page import ACTIVATIONS, EPOCHS, SEEDS, accuracies  # noqa: E402


def finished(folder: Path, val: float, epochs: int = EPOCHS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    history = [{"epoch": epoch + 1, "val_accuracy": 0.1 if epoch + 1 < epochs else val} for epoch in range(epochs)]
    (folder / "history.json").write_text(json.dumps(history))
    return folder


def test_a_run_is_complete_after_all_epochs(tmp_path: Path) -> None:
    assert activation_training.accuracy(finished(tmp_path / "a", 0.5)) == 0.5
    assert activation_training.accuracy(finished(tmp_path / "b", 0.5, EPOCHS - 1)) is None
    assert activation_training.accuracy(tmp_path / "none") is None


def test_complete_runs_make_the_file_without_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index, name in enumerate(ACTIVATIONS):
        for seed in SEEDS:
            finished(tmp_path / "runs" / f"{name}-{seed}", 0.1 * index + 0.01 * seed)
    out = tmp_path / "training.json"
    monkeypatch.setattr(sys, "argv", ["activation_training.py", str(tmp_path / "runs"), "--out", str(out)])
    monkeypatch.setattr(subprocess, "run", None)
    assert activation_training.main() == 0
    found = accuracies(json.loads(out.read_text()))
    for index, name in enumerate(ACTIVATIONS):
        assert found[name] == pytest.approx([0.1 * index + 0.01 * seed for seed in SEEDS])


@pytest.mark.parametrize("begun", [False, True])
def test_what_is_missing_is_trained_and_what_was_begun_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    folder = tmp_path / "hard_sigmoid-2"
    if begun:
        finished(folder, 0.3, 4)
        (folder / "state.npz").touch()
    asked: list[Any] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        finished(folder, 0.75)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    assert activation_training.train("hard_sigmoid", 2, folder) == 0.75
    (command,) = asked
    assert command[command.index("--activation") + 1] == "hard_sigmoid" and command[command.index("--seed") + 1] == "2"
    assert ("--resume" in command) == begun


def test_a_run_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = subprocess.CompletedProcess([], 2, "", "reading\nerror: data/trashnet: no such folder\n")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: failed)
    out = tmp_path / "training.json"
    monkeypatch.setattr(sys, "argv", ["activation_training.py", str(tmp_path), "--out", str(out)])
    assert activation_training.main() == 1
    assert "piecewise_linear_sigmoid, seed 1: error: data/trashnet: no such folder" in capsys.readouterr().err
    assert not out.exists()
