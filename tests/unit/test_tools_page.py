"""docs/tools.md shows every tool. That its commands and links are right is for test_doc_commands and test_doc_links."""

from __future__ import annotations

from pages import ROOT, commands


def test_every_tool_is_among_them() -> None:
    shown = [one.words for one in commands(ROOT / "docs/tools.md") if not one.inline]
    tools = {words[1] if words[0] == "glsl-infer" else words[0] for words in shown}
    assert {"inspect", "selfcheck", "doctor", "report", "classify", "validate", "camera"} <= tools
