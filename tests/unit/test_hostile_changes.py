"""scripts/bench/reliability/mutations.py: hostile changes of files, determined by a seed and an index."""

from __future__ import annotations

from pathlib import Path

import mutations
from tiny import write_tiny


def test_a_mutation_does_not_depend_on_earlier_ones(tmp_path: Path) -> None:
    data = write_tiny(tmp_path).read_bytes()
    before = repr(mutations.HOSTILE_VALUES)
    files = [mutations.mutated((0, index), [data], ["manifest"]) for index in range(150)]
    assert repr(mutations.HOSTILE_VALUES) == before
    assert len({changed for _, changed in files}) > 100
    assert files[:20] == [mutations.mutated((0, index), [data], ["manifest"]) for index in range(20)]
