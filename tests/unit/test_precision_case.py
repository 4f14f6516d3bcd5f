"""The networks of scripts/bench/precision.py: the effect of image noise on floats, and older rows of its page."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from test_sensitivity import GRAPH, PICTURES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/bench"))
import precision
from precision_parts.case import Case


def test_pictures_half_a_byte_off_move_floats_a_little() -> None:
    case = Case("mobilenet-v2-0.35", GRAPH, PICTURES[:2], PICTURES[2:])
    floats = [next(iter(one.values())) for one in case.run(GRAPH, case.test, "float")]
    moved = [
        max(float(np.abs(next(iter(one.values())) - exact).max()) for one, exact in zip(case.noisy(most), floats))
        for most in (0.0, 0.5, 4.0)
    ]
    assert moved[0] < 1e-5 < moved[1] < moved[2]


def test_rows_of_auto_before_it_counted_its_plan_are_marked() -> None:
    row = {"network": "face-mesh", "pictures": 4, "scores": {"pixels": 1.0}, "fine": 0, "weights": "stored"}
    row |= {"work": None, "draws": 1}
    older, newer = ({**row, "bits": bits} for bits in ("auto", "8"))
    assert "face-mesh'" in precision.shown([older])
    assert "face-mesh'" not in precision.shown([newer, {**older, "planned": precision.PLANNED}])


def test_rows_of_before_go_where_the_same_was_measured_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "STORED", tmp_path / "precision.json")
    row = {"network": "face-mesh", "scores": {"pixels": 1.0}, "fine": 0, "work": None, "draws": 1}
    before = [{**row, "pictures": 16, "bits": bits, "weights": "stored"} for bits in ("8", "auto", "16")]
    assert len(precision.stored([*before, {**row, "pictures": 4, "bits": "16"}])) == 3
    anew = {**row, "pictures": 32, "bits": "auto", "weights": "stored"}
    for rule in (True, precision.PLANNED):
        kept = precision.stored([{**anew, "planned": rule}])
        assert [(one["pictures"], one["bits"]) for one in kept] == [(16, "8"), (16, "16"), (32, "auto")]
    assert "face-mesh'" not in precision.shown(kept)
