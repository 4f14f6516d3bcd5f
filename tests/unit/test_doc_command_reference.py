"""docs/reference/command-line.md is the output of scripts/docs/command_reference.py."""

from __future__ import annotations

import command_reference
from pages import ROOT

from glsl_infer.cli import COMMANDS


def test_the_page_is_up_to_date() -> None:
    text = (ROOT / "docs/reference/command-line.md").read_text("utf-8")
    assert text == command_reference.page(), "run: python scripts/docs/command_reference.py"
    assert all(f"\n## glsl-infer {name}\n" in text for name in COMMANDS)
