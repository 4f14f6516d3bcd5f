"""docs/videocore.md: it explains every column, and its numbers are those that are stored or computed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from glsl_infer.tools.videocore import estimate
from glsl_infer.tools.videocore.table import HEADS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/videocore.md").read_text("utf-8")


@pytest.mark.parametrize("head", HEADS[1:])
def test_every_column_has_its_line(head: str) -> None:
    assert len(re.findall(rf"^\| {re.escape(head)} \|", PAGE, re.MULTILINE)) == 1


def test_jobs_of_the_shipped_models() -> None:
    stored = json.loads((ROOT / "tests/vc4/budget.json").read_text("utf-8"))
    for name, found in stored.items():
        passes = sum(layer["passes"] for layer in found["layers"].values())
        assert f"| {name} | {passes} | {len(found['layers'])} | {found['jobs']} | {found['loads']} |" in PAGE


@pytest.mark.parametrize("board", estimate.BOARDS, ids=lambda board: board.name)
def test_the_calibration(board: estimate.Board) -> None:
    each = estimate.costs(board)
    computing = 1e3 * estimate.ARTICLE_INSTRUCTIONS / 16 * 4 / 12 / board.clock
    numbers = f"{computing:.1f} ms | {board.article - computing:.0f} ms | {each.draw + each.job:.2f} ms |"
    assert f"| {board.name}, {board.clock / 1e6:.0f} MHz | {numbers}" in PAGE
