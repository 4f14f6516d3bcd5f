""".ci/run: the suite on a private copy of the working tree."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from pages import ROOT

MAKE = """#!/bin/sh
echo "$*|$PWD|$(stat -c %a "$PWD/..")|$HOME|$XDG_CACHE_HOME|$(cat ../shared/data)|$(cat new.txt)" >>"$MAKE_LOG"
case "$*" in *test-rest) exit 3 ;; esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with the script, an ignored file, and a new, uncommitted file."""
    folder = tmp_path / "checkout"
    (folder / ".ci").mkdir(parents=True)
    (folder / ".ci/run").write_bytes((ROOT / ".ci/run").read_bytes())
    (folder / "scripts/vc4").mkdir(parents=True)
    (folder / "scripts/vc4/build.sh").symlink_to("/bin/true")
    (folder / ".gitignore").write_text("ignored\n")
    (folder / "ignored").write_text("large")
    (folder / "new.txt").write_text("not committed yet")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/data").write_text("shared data")
    for arguments in (["init", "-q"], ["add", ".ci", ".gitignore", "scripts"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


def test_the_suite_runs_in_a_private_folder_with_a_space(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/make").write_text(MAKE)
    (tmp_path / "bin/make").chmod(0o755)
    (tmp_path / "tmp").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "GIT_"))}
    environment |= {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "MAKE_LOG": str(tmp_path / "make.log"),
    }
    done = subprocess.run(
        ["bash", checkout / ".ci/run"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env=environment, cwd="/",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr  # make's exit status
    setup, suite = (tmp_path / "make.log").read_text().splitlines(keepends=False)
    targets, folder, mode, home, cache, shared, new = suite.split("|")
    assert targets == "test test-rest"
    assert " " in folder
    assert Path(folder).parents[1] == tmp_path / "tmp"
    assert mode == "700"
    assert Path(home) == Path(folder).parent / "home"
    assert (cache, shared, new) == (str(tmp_path / "home/.cache"), "shared data", "not committed yet")
    assert setup.split("|")[3] == str(tmp_path / "home")
    assert list((tmp_path / "tmp").iterdir()) == []
