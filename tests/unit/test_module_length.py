"""No module has more than 300 lines: a longer one has several subjects."""

from __future__ import annotations

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
    modules = [path for folder in folders for end in ("py", "ts", "java") for path in (ROOT / folder).rglob(f"*.{end}")]
    written = [path for path in modules if not {"node_modules", "build", "dist"} & {*path.relative_to(ROOT).parts}]
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in written}
    assert len(lines) > 500
    assert {name for name, count in lines.items() if count > MOST} == set(LONGER)
