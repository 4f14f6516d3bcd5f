"""docs/boards.md, and how a report gets into it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from glsl_infer.errors import InputError
from glsl_infer.tools.report import saved

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/boards/table.py"


def test_the_page_is_what_the_reports_say() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_report_that_is_kept_is_whole() -> None:
    for path in (ROOT / "boards").glob("*.json"):
        if path.name != "predicted.json":
            assert saved.read(path)["models"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "no JSON"),
        (b"[]", "not a report"),
        (b'{"format": "glsl-infer benchmark"}', "not a report"),
        (b'{"format": "glsl-infer report", "version": 2}', "version 2"),
        (b'{"format": "glsl-infer report", "version": 1}', "'machine' is missing"),
    ],
)
def test_other_files_are_refused(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words):
        saved.read(path)
    done = subprocess.run([sys.executable, SCRIPT, "--add", path], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_report_without_times_has_none() -> None:
    assert saved.frame_ms({"benchmark": {"failed": "no GPU"}}) is None
    assert saved.start_ms(json.loads('{"benchmark": {"start_ms": {"total": null}}}')) is None
