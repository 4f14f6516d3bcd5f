"""No module has more than 300 lines: a longer one has several subjects."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MOST = 300

LONGER = {
    "android/runner/src/main/java/glslinfer/runner/FormatConstants.java": "written by scripts/format_constants.py",
    "web/src/formatConstants.ts": "written by scripts/format_constants.py",
}
"""Modules that may be longer, and why."""


def test_no_module_is_longer() -> None:
    folders = ["glsl_infer", "web/src", "android", "training", "scripts"]
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    modules = [name for name in listed.split("\n") if name.endswith((".py", ".ts", ".java"))]
    lines = {name: len((ROOT / name).read_text("utf-8").splitlines()) for name in modules if (ROOT / name).is_file()}
    assert len(lines) > 500
    assert {name for name, count in lines.items() if count > MOST} == set(LONGER)
