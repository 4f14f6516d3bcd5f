"""Networks layer by layer: random ones around every operator, the small models, and files of ONNX and TFLite."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import foreign_models
import needs
import numpy as np
import onnx_cases
import pytest
import small_models
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from layer_check import TOLERANCE, allowed, layer_error, stored_inputs
from onnx_backend import PASSED, Case, judge
from operator_table.cost import tolerance
from random_networks import KINDS, fine_rounding, layer_errors, random_bundle

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle
from glsl_infer.cli import main
from glsl_infer.gl.context import Context
from glsl_infer.graph import Node, reference
from glsl_infer.program.layout import FeatureMap, FixedMap, SixteenBitMap
from glsl_infer.runtime.session import Session
from models import NAMES, RUN_EVERYWHERE


@pytest.mark.parametrize(
    ("examples", "first"),
    [
        pytest.param(2, 0, marks=pytest.mark.drivers),
        pytest.param(2, 1 << 32, marks=[pytest.mark.drivers("all"), pytest.mark.exhaustive]),
        pytest.param(4, 2 << 32, marks=pytest.mark.exhaustive),
    ],
    ids=["first", "second", "third"],
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_layer_is_exact(context: Context, kind: str, examples: int, first: int) -> None:
    @given(st.integers(first, first + (1 << 32) - 1))
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate])
    def check(seed: int) -> None:
        with Session(random_bundle(kind, seed), context=context) as session:
            errors = layer_errors(session, np.random.default_rng(seed))
        assert all(error <= allowed(session.bundle, name) for name, error in errors.items()), errors

    check()


@pytest.mark.drivers("all")
@pytest.mark.parametrize("kind", KINDS)
def test_a_correct_driver_passes_the_self_check(context: Context, kind: str) -> None:
    # The seed is fixed: its tolerances come from a few noisy runs, and one random network in about 700 exceeds them.
    Session(random_bundle(kind, 1), context=context, selfcheck=True).close()


EXACT = 1e-9
"""Error of float64 values that are a whole number of steps, in steps."""


def runs(name: str) -> object:
    """Return a model's test parameter: `make test` on all drivers if every runner runs it, else `make test-all`.

    The latter runs on llvmpipe.
    """
    return pytest.param(name, marks=pytest.mark.drivers if name in RUN_EVERYWHERE else pytest.mark.exhaustive)


def overlap(bundle: Bundle, node: Node) -> bool:
    """Return whether inputs of a node are views of the same tiles, so that they cannot differ at random."""
    places = [
        [view for view in value.views] if isinstance(value, (FeatureMap, SixteenBitMap)) else [value.texture]
        for value in (bundle.values[read] for read in dict.fromkeys(node.inputs))
        if not isinstance(value, FixedMap)
    ]
    return len({region for part in places for region in part}) < sum(map(len, places))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*map(runs, NAMES)])
def test_every_layer_is_within_its_tolerance(context: Context, name: str) -> None:
    needs.installed("keras")
    exported = small_models.exported(name)
    bundle, rng = bundles.read(exported.path), np.random.default_rng(0)
    values = dict(reference.all_values(bundle, exported.inputs))
    with Session(bundle, context=context, selfcheck=True) as session:
        for node in bundle.graph.nodes:
            allowed = None if node.operator.is_input else tolerance(node)
            if allowed is not None:
                inputs = [values[read] for read in node.inputs] if overlap(bundle, node) else None
                error = layer_error(session, node.name, inputs or stored_inputs(bundle, node.name, rng))
                most = min(allowed, TOLERANCE) + fine_rounding(bundle, node) + EXACT
                assert error <= most, f"{node.name} ({node.op})"
        outputs = session.run(exported.inputs)
    assert set(outputs) == {output.name for output in bundle.manifest.outputs}
    assert all(np.isfinite(numbers).all() for numbers in outputs.values())


REPORT: dict[str, Any] = json.loads((Path(__file__).parents[1] / "onnx_suites.json").read_text("utf-8"))
PASSING = [name for names in REPORT["cases"][PASSED].values() for name in names]

EACH = 6
"""Step between the repeated cases, among those that pass; scripts/bench/onnx_suites.py runs all."""

LARGEST = 100_000
"""Largest number of input values of a repeated case."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {f"{case.kind}/{case.name}": case for case in onnx_cases.cases()}


@pytest.mark.slow
def test_the_report_is_of_these_cases_and_the_goals_are_met(cases: dict[str, Case]) -> None:
    advice = "scripts/bench/onnx_suites.py writes the report anew"
    listed = {name for reasons in REPORT["cases"].values() for names in reasons.values() for name in names}
    assert listed == set(cases), advice
    for name, least in onnx_cases.GOALS.items():
        members = [key for key, case in cases.items() if name in onnx_cases.goals_of(case)]
        assert sum(REPORT["sets"][name].values()) == len(members), advice
        assert len(set(members) & set(PASSING)) == REPORT["sets"][name][PASSED] >= least, name


@pytest.mark.slow
@pytest.mark.exhaustive
def test_passing_cases_still_pass(cases: dict[str, Case], context: Context) -> None:
    small = [name for name in PASSING if sum(array.size for array in cases[name].inputs) <= LARGEST]
    lost = {}
    for name in sorted(small)[::EACH]:
        verdict = judge(cases[name], context)
        if verdict.verdict != PASSED:
            lost[name] = verdict.reason
    assert not lost


def test_an_exported_detector_agrees_with_litert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = foreign_models.exported("detector.tflite", tmp_path)
    assert main(["selfcheck", str(bundle)]) == 0
    capsys.readouterr()
    assert (
        main(["validate", str(model), str(bundle), "--data", str(photos), "--json", "--min-layer-cosine", "0.99"]) == 0
    )
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["beside"].startswith("LiteRT ") and agreement["failures"] == []
    assert [end["name"] for end in agreement["outputs"]] == ["boxes", "mask"]
    assert all(end["sqnr_db"] > 25.0 for end in agreement["outputs"])
    # Zeros, phases of a transposed convolution and partial sums do not correspond to tensors of the file.
    assert len(agreement["layers"]) >= 8 and len(agreement["not_compared"]) <= 3
    assert "tensorflow" not in sys.modules


def test_sizes_that_the_file_leaves_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, bundle, photos = foreign_models.exported("open.tflite", tmp_path, "--input-size", "12x20")
    assert main(["inspect", str(model), "--input-size", "12x20"]) == 0
    capsys.readouterr()
    assert main(["validate", str(model), str(bundle), "--data", str(photos), "--json"]) == 0
    agreement = json.loads(capsys.readouterr().out)
    assert agreement["failures"] == [] and agreement["outputs"][0]["cosine"] > 0.99
    assert main(["inspect", str(model)]) == 2
    assert "--input-size" in capsys.readouterr().err
