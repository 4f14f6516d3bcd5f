"""scripts/bench/newcomers.py: its commands are in the pages, and a run with quick commands works."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
from pathlib import Path

import newcomers
import pytest
from newcomer_steps import NEWCOMERS, SERVED, Newcomer, Step
from newcomers import NewcomerError

from glsl_infer.support.child_process import ROOT


@pytest.mark.parametrize("one", NEWCOMERS, ids=lambda one: one.name)
def test_pages_say_what_is_typed(one: Newcomer) -> None:
    newcomers.check(one, ROOT)


def test_what_no_page_says_is_refused() -> None:
    newcomer = Newcomer("x", "", (), (Step("README.md", "glsl-infer classify --by magic"),))
    with pytest.raises(NewcomerError, match=r"README\.md"):
        newcomers.check(newcomer, ROOT)


@pytest.mark.slow
def test_a_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("DATA/Banana", "outer", "repository/docs/images"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("README.md", "docs/images/example.jpg"):
        shutil.copy(ROOT / name, tmp_path / "repository" / name)
    git = ["git", "-C", str(tmp_path / "repository"), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(newcomers, "ROOT", tmp_path / "repository")
    for index in range(4):
        (tmp_path / f"DATA/Banana/{index}.jpg").touch()
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    typed = (
        'test -z "$(ls -A $HOME)" && test -z "$PYTHONPATH" && test -f README.md && test ! -e .venv',
        "test $(ls photos | wc -l) = 2 && test -f deployment.yml",
    )
    files = (("DATA/Banana/*.jpg 1 3", "photos/"), ("docs/images/example.jpg", "photo.jpg"))
    newcomer = Newcomer("x", "", files, tuple(Step("", "", line) for line in typed))
    took = newcomers.play(newcomer, tmp_path / "outer", tmp_path / "DATA")
    assert len(took) == 3 and capsys.readouterr().out.endswith("minutes\n")
    assert [path.name for path in (tmp_path / "outer").iterdir()] == ["x-home"]
    with pytest.raises(NewcomerError, match=r"(?s)echo why >&2; exit 3: exit status 3.*why"):
        newcomers.play(
            dataclasses.replace(newcomer, name="y", steps=(Step("", "", "echo why >&2; exit 3"),)),
            tmp_path / "outer",
            tmp_path / "DATA",
        )
    with pytest.raises(NewcomerError, match="are too few; give --data"):
        newcomers.prepare(dataclasses.replace(newcomer, files=(("DATA/Banana/*.jpg 0 9", "photos/"),)), ROOT, tmp_path)


def test_a_page_that_is_served(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<canvas>")
    server = f"python3 -m http.server --bind 127.0.0.1 {newcomers.PORT}"
    newcomers.served(server, tmp_path, dict(os.environ))
    assert not newcomers.answers(), "it is ended"
    with pytest.raises(NewcomerError, match=r"(?s)serves no page.*no such server"):
        newcomers.served("sh -c 'echo no such server; exit 1'", tmp_path, dict(os.environ))
    assert SERVED in {step.until for newcomer in NEWCOMERS for step in newcomer.steps}


def test_the_page_keeps_rows_of_those_who_were_not_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newcomers, "PAGE", tmp_path / "page.md")
    newcomers.write({"phone": [0.1, 2.0]})
    newcomers.write({"page": [0.1, 3.04]})
    rows = [line for line in newcomers.PAGE.read_text().splitlines() if line.startswith("| the")]
    assert rows == [
        "| the demo page, served | 3.1 | 3.0: `make web` |",
        "| the camera app, as an APK | 2.1 | 2.0: `make apk` |",
    ]
