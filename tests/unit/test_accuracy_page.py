"""scripts/bench/accuracy.py: its sections, and the results that it keeps."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/bench"))

import accuracy  # noqa: E402

from glsl_infer.errors import InputError  # noqa: E402

STORED = ROOT / "docs/engineering/accuracy"


def test_a_section_without_numbers_is_named(tmp_path: Path) -> None:
    shutil.copytree(STORED, tmp_path / "numbers")
    (tmp_path / "numbers/drivers.json").unlink()
    with pytest.raises(InputError, match="--only"):
        accuracy.stored(tmp_path / "numbers")


def test_sections_are_chosen_by_name() -> None:
    assert accuracy.sections_of("drivers,layers") == ["drivers", "layers"]
    with pytest.raises(argparse.ArgumentTypeError, match="no section frames"):
        accuracy.sections_of("layers,frames")


def test_the_page_is_written_from_the_stored_results() -> None:
    text = (ROOT / "docs/engineering/accuracy.md").read_text("utf-8")
    assert accuracy.page(accuracy.stored(STORED), text) == text
