"""scripts/bench/accuracy.py: its sections, the results that it keeps, and the comparisons."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/bench"))

import accuracy  # noqa: E402
import keras_graphs  # noqa: E402
from accuracy import compared, evenly  # noqa: E402
from tiny import tiny_graph, tiny_picture  # noqa: E402

from glsl_infer.errors import InputError  # noqa: E402
from glsl_infer.graph import reference  # noqa: E402

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


def test_logits_are_compared_without_their_mean() -> None:
    rng = np.random.default_rng(0)
    floats = rng.normal(0, 1, (20, 5))
    same = compared(floats + 3.0, floats)
    assert same["largest"] < 1e-12
    assert same["cosine_least"] == pytest.approx(1.0)
    assert same["same_top1"] == 20
    moved = compared(floats + np.array([0.5, 0, 0, 0, -0.5]), floats)
    assert moved["largest"] == pytest.approx(0.5)
    assert moved["mean"] == pytest.approx(0.2)
    assert moved["relative_mean"] == pytest.approx(0.2 / (floats - floats.mean(1, keepdims=True)).std(axis=0).mean())


def test_pictures_are_evenly_spaced() -> None:
    assert evenly(range(10), 5) == [0, 2, 4, 6, 8]


def test_a_graph_survives_the_way_between_processes(tmp_path: Path) -> None:
    keras_graphs.write(tiny_graph(), tmp_path / "tiny.graph")
    again = keras_graphs.read(tmp_path / "tiny.graph")
    one, other = (reference.run(graph, tiny_picture(0), mode="float") for graph in (tiny_graph(), again))
    assert (one == other).all()
