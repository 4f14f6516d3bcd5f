"""scripts/bench/first_frame.py: its output, and refused arguments."""

from __future__ import annotations

import json
from pathlib import Path

from command_line import run_script
from tiny import write_tiny

from glsl_infer import bundle

ROOT = Path(__file__).resolve().parents[2]


FIRST_FRAME = ROOT / "scripts/bench/first_frame.py"


def test_first_frame(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    done = run_script(FIRST_FRAME, path, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    manifest = bundle.read(path).manifest
    assert {row["program"] for row in rows} == {one.name for one in manifest.programs}
    assert sum(row["draws"] for row in rows) == len(manifest.passes)
    assert all(0 <= row["compiled"] <= row["draws"] for row in rows)
    assert min(row["first_ms"] for row in rows) > 0


def test_a_file_that_is_missing_is_named() -> None:
    done = run_script(FIRST_FRAME, "nowhere.glslnn")
    assert done.returncode == 2
    assert done.stderr.startswith("error: nowhere.glslnn: no such file")
    assert done.stdout == ""
