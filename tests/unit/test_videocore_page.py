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


def test_the_calibration() -> None:
    boards = estimate.BOARDS
    article = " and ".join(f"{board.article:.0f} ms on a {board.name}" for board in boards)
    computing = [1e3 * estimate.ARTICLE_INSTRUCTIONS / 16 * 4 / 12 / board.clock for board in boards]
    left = [estimate.costs(board).draw + estimate.costs(board).job for board in boards]
    words = " ".join(PAGE.split())
    assert article in words
    assert (
        f"computing, {computing[0]:.1f} and {computing[1]:.1f} ms, leaves {left[0]:.2f} and {left[1]:.2f} ms" in words
    )
