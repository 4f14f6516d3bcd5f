"""docs/troubleshooting.md quotes messages: each is one that the program says."""

from __future__ import annotations

import re

import pytest
from pages import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text("utf-8")
QUOTED = re.findall(r"^`([^`]+)` \|", PAGE, re.MULTILINE)
SOURCES = "".join(
    re.sub(r'"\n\s*f?"', "", path.read_text("utf-8"))  # a sentence in several strings
    for path in sorted((ROOT / "glsl_infer").rglob("*.py"))
)


def test_there_are_messages() -> None:
    assert len(QUOTED) >= 6


@pytest.mark.parametrize("message", QUOTED)
def test_a_message_that_the_program_says(message: str) -> None:
    assert message in SOURCES
