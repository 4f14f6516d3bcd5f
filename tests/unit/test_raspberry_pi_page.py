"""docs/raspberry-pi.md shows how to measure a board. That its commands are right is for test_doc_commands."""

from __future__ import annotations

from pages import ROOT, commands


def test_the_benchmark_is_among_them() -> None:
    shown = [one.words[:2] for one in commands(ROOT / "docs/raspberry-pi.md") if not one.inline]
    assert shown.count(("glsl-infer", "benchmark")) >= 3
