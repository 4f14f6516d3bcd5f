"""The fuzzer's files depend on its seed alone."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pages import ROOT
from tiny import write_tiny

sys.path.insert(0, str(ROOT / "scripts/bench/reliability"))

import mutations
import pytest


@pytest.mark.slow
def test_what_a_file_gets_is_the_same_for_the_next(tmp_path: Path) -> None:
    data = write_tiny(tmp_path).read_bytes()
    before = repr(mutations.HOSTILE_VALUES)

    @st.composite
    def manifests(draw: mutations.Draw) -> bytes:
        return mutations.KINDS["manifest"](draw, data)

    @settings(
        max_examples=150, database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(manifests())
    def try_one(_: bytes) -> None:
        assert repr(mutations.HOSTILE_VALUES) == before

    try_one()
