"""glsl-infer collect: a key for each class, on pictures and by a pseudo terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from glsl_infer.cli import main


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(folder / f"{number}.png")
    return folder


def counts(folder: Path) -> dict[str, int]:
    return {path.name: len(list(path.glob("*.jpg"))) for path in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("keys", "cats", "nones"), [("1221", 2, 2), ("1q", 1, 0), (" x2", 0, 1), ("", 0, 0), ("11111", 4, 0)]
)
def test_a_key_a_class(
    pictures: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keys: str,
    cats: int,
    nones: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    out = tmp_path / "photos"
    assert main(["collect", "--source", str(pictures), "--classes", "cat,none", "-o", str(out), "--json"]) == 0
    assert counts(out) == {"cat": cats, "none": nones} == json.loads(capsys.readouterr().out)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_a_terminal_gives_keys_without_enter(pictures: Path, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    out = tmp_path / "photos"
    argv = ["collect", "--source", str(pictures), "--classes", "cat,none", "-o", str(out)]
    command = [sys.executable, "-m", "glsl_infer", *argv]
    with subprocess.Popen(command, stdin=theirs, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr is not None
            assert b"keys: 1 cat, 2 none" in process.stderr.readline()
            os.write(ours, b"12q")
            assert process.wait(60) == 0
        finally:
            process.kill()
    os.close(ours)
    os.close(theirs)
    assert counts(out) == {"cat": 1, "none": 1}


@pytest.mark.parametrize("classes", ["", "a,a", "a/b", ".hidden,b", ",".join(f"c{n}" for n in range(40))])
def test_labels_that_are_no_folders(pictures: Path, classes: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["collect", "--source", str(pictures), f"--classes={classes}", "-o", str(pictures / "out")]
    assert main(argv) == 2
    assert "different names that can be folders" in capsys.readouterr().err
