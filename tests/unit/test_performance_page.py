"""docs/performance.md names every row that ``glsl-infer benchmark`` prints."""

from __future__ import annotations

from pathlib import Path

from glsl_infer.cli import benchmark_text

PAGE = (Path(__file__).resolve().parents[2] / "docs/performance.md").read_text("utf-8")


def test_every_row_is_explained() -> None:
    first_cells = {line.strip("| ").partition("|")[0].strip() for line in PAGE.splitlines() if " | " in line}
    printed = {*benchmark_text._START.values(), *(name.strip() for name in benchmark_text._STEPS.values())}
    assert printed - first_cells == set()
