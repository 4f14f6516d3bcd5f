"""The fuzzer's files depend on its seed alone."""

from __future__ import annotations

import sys
from pathlib import Path

from pages import ROOT
from tiny import write_tiny

sys.path.insert(0, str(ROOT / "scripts/bench/reliability"))

import mutations


def test_a_mutation_does_not_depend_on_earlier_ones(tmp_path: Path) -> None:
    data = write_tiny(tmp_path).read_bytes()
    before = repr(mutations.HOSTILE_VALUES)
    files = [mutations.mutated((0, number), [data], ["manifest"]) for number in range(150)]
    assert repr(mutations.HOSTILE_VALUES) == before
    assert len({changed for _, changed in files}) > 100
    assert files[:20] == [mutations.mutated((0, number), [data], ["manifest"]) for number in range(20)]
