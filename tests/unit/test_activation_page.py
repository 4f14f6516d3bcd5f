"""docs/activations.md: composed from stored numbers, with accuracies or before there are any."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import activation_study  # noqa: E402
from activation_page import ACTIVATIONS, KINDS, accuracies, frames, page, score, shaders  # noqa: E402
from tiny import tiny_bundle  # noqa: E402

from glsl_infer.errors import InputError  # noqa: E402
from glsl_infer.tools.videocore.report import report  # noqa: E402
from glsl_infer.tools.videocore.transcript import Measured, Shader  # noqa: E402

STORED = ROOT / "docs/activations"


def layer(name: str, least: int, most: int) -> dict[str, Any]:
    return {"layer": name, "least": least, "most": most, "threads": 2, "pixels": 10, "total": 10 * most}


def made_up(uniform: int, baked: int) -> dict[str, Any]:
    layers = [layer(f"b1{ending}", 100, 100) for ending in KINDS.values()]
    layers += [layer("b2-stage1-pw", 90, 120), layer("b6-conv", 100, 100), layer("b0-conv", 100, 100)]
    return {name: {"total": total, "layers": layers} for name, total in (("uniform", uniform), ("baked", baked))}


def test_the_page_is_composed_of_the_stored_numbers() -> None:
    training = STORED / "training.json"
    scores = accuracies(activation_study.read(training)) if training.exists() else {}
    _, text = activation_study.composed(STORED / "instructions.json", scores)
    assert text == (ROOT / "docs/activations.md").read_text("utf-8"), "run python scripts/activation_study.py --table"


def test_every_activation_is_measured_in_both_modes() -> None:
    found = activation_study.read(STORED / "instructions.json")["activations"]
    assert list(found) == list(ACTIVATIONS)
    for modes in found.values():
        assert list(modes) == list(activation_study.MODES)
        for one in modes.values():
            assert one["total"] == sum(row["total"] for row in one["layers"])


def test_instructions_and_accuracies_stand_side_by_side() -> None:
    measured = {"piecewise_linear_sigmoid": made_up(48_000_000, 60_000_000), "clipped_relu": made_up(36_000_000, 1)}
    lines = frames(measured, {"clipped_relu": [0.5, 0.52, 0.54]}).splitlines()
    assert len(lines) == 4
    assert lines[2].endswith("| not measured | 48.0 | 0.0 % | 60.0 | 4.0 ms |")
    assert lines[3].endswith("| clip(x, 0, 1) | 52.00 ± 2.00 % (3 seeds) | 36.0 | 25.0 % | 0.0 | 3.0 ms |")


def test_shaders_of_one_kind_that_differ_give_both_ends() -> None:
    lines = shaders({"clipped_relu": made_up(1, 1)}).splitlines()
    assert lines[0] == "| convolution | clipped_relu |"
    assert [line for line in lines if line.startswith("| 1x1 |")] == ["| 1x1 | 90 to 120 |"]
    assert [line for line in lines if line.startswith("| 3x3 / 2 |")] == ["| 3x3 / 2 | 100 |"]


@pytest.mark.parametrize(
    "values, text",
    [([], "not measured"), ([0.1234], "12.34 % (1 seed)"), ([0.5, 0.5], "50.00 ± 0.00 % (2 seeds)")],
)
def test_spread_needs_two_seeds(values: list[float], text: str) -> None:
    assert score(values) == text


def test_accuracies_of_runs() -> None:
    runs = {"hard_sigmoid": [{"seed": 1, "val": 0.25, "epochs": 3}, {"seed": 2, "val": 1}], "clipped_relu": []}
    assert accuracies(runs) == {"hard_sigmoid": [0.25, 1.0], "clipped_relu": []}


@pytest.mark.parametrize(
    "runs, message",
    [
        ([], "t.json: not a table of activations"),
        ({"tanh": []}, "t.json: activation 'tanh'; there are piecewise_linear_sigmoid, learnable_sigmoid"),
        ({"hard_sigmoid": {"seed": 1}}, "t.json: 'hard_sigmoid' is not a list of runs"),
        ({"hard_sigmoid": [0.5]}, "t.json: 'hard_sigmoid' is not a list of runs"),
        ({"hard_sigmoid": [{"val": 0.5}]}, "the runs of 'hard_sigmoid' need a seed each"),
        ({"hard_sigmoid": [{"seed": 1, "val": 0.5}] * 2}, "the runs of 'hard_sigmoid' need a seed each"),
        ({"hard_sigmoid": [{"seed": 1, "val": 72.5}]}, "seed 1: val=72.5; give an accuracy from 0 to 1"),
        ({"hard_sigmoid": [{"seed": 1}]}, "seed 1: val=None; give an accuracy"),
        ({"hard_sigmoid": [{"seed": 1, "val": float("nan")}]}, "seed 1: val=nan; give an accuracy"),
    ],
)
def test_other_tables_are_refused(runs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        accuracies(runs, "t.json")


def test_a_frame_is_instructions_times_pixels() -> None:
    made = tiny_bundle(weights="uniform")
    shaders = {one.name: Shader(100 + index, 2, 0, 0, 0, 1) for index, one in enumerate(made.manifest.programs)}
    found = activation_study.summed(report(made, Measured(programs=shaders)))
    areas = {
        one.layer: sum(
            quad.width * quad.height for each in made.manifest.passes if each.layer == one.layer for quad in each.quads
        )
        for one in made.manifest.passes
    }
    assert {row["layer"]: row["pixels"] for row in found["layers"]} == areas
    assert areas["expand"] == 5 * 5 * 16, "a pixel of each of 16 slices"
    wanted = sum(
        shaders[one.program].instructions * quad.width * quad.height
        for one in made.manifest.passes
        for quad in one.quads
    )
    assert found["total"] == wanted


def test_numbers_as_text_have_a_line_a_layer() -> None:
    found = {"activations": {"clipped_relu": made_up(1, 2)}}
    text = activation_study.as_text(found)
    assert json.loads(text) == found
    assert sum('"layer":' in line for line in text.splitlines()) == text.count('"layer":')


def test_numbers_that_are_missing_or_damaged_are_named(tmp_path: Path) -> None:
    stored = tmp_path / "instructions.json"
    with pytest.raises(InputError, match="No such file or directory; measure first, without --table"):
        activation_study.composed(stored, {})
    stored.write_text("{")
    with pytest.raises(InputError, match="not JSON"):
        activation_study.composed(stored, {})
    stored.write_text('{"activations": {}}')
    with pytest.raises(InputError, match=r"instructions\.json: damaged"):
        activation_study.composed(stored, {})


def test_the_page_says_its_sizes() -> None:
    text = page({"size": 385, "classes": 7, "activations": {"clipped_relu": made_up(1, 1)}}, {})
    assert "X22 at 385x385 with\n7 classes" in text
