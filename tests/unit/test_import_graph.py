"""The diagram of packages in design.md: without implied arrows, with forbidden ones marked."""

from __future__ import annotations

import sys

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts/docs"))

import import_graph


def test_arrows_that_others_imply_are_left_out() -> None:
    edges = {"top": frozenset({"middle", "low"}), "middle": frozenset({"low"}), "low": frozenset()}
    assert import_graph.shortest(edges) == {**edges, "top": {"middle"}}


def test_imports_upwards_and_forbidden_ones_are_marked() -> None:
    edges = {"cli": frozenset({"gl", "graph"}), "gl": frozenset({"cli"}), "graph": frozenset()}
    text = import_graph.section([["cli"], ["gl"], ["graph"]], edges, {("cli", "graph")})
    assert "cli-->gl" in text
    assert "gl -. to be removed .-> cli" in text
    assert "cli -. to be removed .-> graph" in text


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="no section of rooms"):
        import_graph.written("# Design\n", "rooms")
