"""Python, Java and TypeScript accept and refuse the same files, out of about a hundred changed ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pages import ROOT

sys.path.insert(0, str(ROOT / "scripts/bench/reliability"))

import readers

pytestmark = pytest.mark.exhaustive


def test_no_file_is_two_things(tmp_path: Path) -> None:
    kinds, findings = readers.compare(300, 27, tmp_path / "findings")
    assert findings == []
    assert 30 < kinds["taken"] < 270
