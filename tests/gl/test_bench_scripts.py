"""scripts/bench/first_frame.py: what it prints, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tiny import write_tiny

from glsl_infer import bundle

ROOT = Path(__file__).resolve().parents[2]


def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts/bench" / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_first_frame(tmp_path: Path) -> None:
    path = write_tiny(tmp_path)
    done = run("first_frame.py", path, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    manifest = bundle.read(path).manifest
    assert {row["program"] for row in rows} == {one.name for one in manifest.programs}
    assert sum(row["draws"] for row in rows) == len(manifest.passes)
    assert all(0 <= row["compiled"] <= row["draws"] for row in rows)
    assert min(row["first_ms"] for row in rows) > 0


def test_a_file_that_is_missing_is_named() -> None:
    done = run("first_frame.py", "nowhere.glslnn")
    assert done.returncode == 2
    assert done.stderr.startswith("error: nowhere.glslnn: no such file")
    assert done.stdout == ""
