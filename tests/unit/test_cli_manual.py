"""glsl-infer manual: a page for each command, with all its options, without warnings of groff."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Capture, refused

from glsl_infer.cli import COMMANDS, main, parser_of
from glsl_infer.cli.completion import options_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("man")
    assert main(["manual", "-o", str(out)]) == 0
    return out / "man1"


def test_every_command_has_its_page_and_every_option_is_in_it(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        *("glsl-infer.1", "classify.1"),
        *(f"glsl-infer-{name}.1" for name in COMMANDS),
    }
    for name in COMMANDS:
        text = (folder / f"glsl-infer-{name}.1").read_text("utf-8").replace("\\-", "-")
        for option in options_of(parser_of((name,)).commands[name]):
            assert re.search(rf"^\.B .*(?<!\S){option.name}(?![\w-])", text, re.MULTILINE), option.name
    assert "glsl\\-infer\\-export (1)" in (folder / "glsl-infer.1").read_text("utf-8")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reports_no_warnings(folder: Path) -> None:
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-rCHECKSTYLE=3", "-b", *sorted(folder.iterdir())],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    # Bold and underlined text is marked as for a terminal or a printer; justified lines have more spaces.
    plain = " ".join(re.sub(r"\x1b\[[\d;]*m|.\x08", "", done.stdout).split())
    assert "--images DIR" in plain and "99.99" in plain and "glsl_infer" not in plain


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "file").touch()
    assert "give another with -o" in refused(capsys, ["manual", "-o", tmp_path / "file"])
