"""Benchmarks on a real driver: the contents of a result. Tests only compare times with each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from tiny import tiny_bundle, tiny_picture, write_tiny

import glsl_infer
from glsl_infer.gl import constants as GL
from glsl_infer.gl import timer_queries
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.tools.benchmark import comparison, frames
from glsl_infer.tools.benchmark.measuring import inputs_of, measure, steps_of
from glsl_infer.tools.benchmark.profile import FINISHES, QUERIES, profile
from glsl_infer.tools.benchmark.sustained import sustain

pytestmark = pytest.mark.drivers("all")

SCHEMA = json.loads((Path(glsl_infer.__file__).parent / "tools/benchmark/result.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def told() -> tuple[list[int], Any]:
    """Return a list and its append function, as a progress callback."""
    heard: list[int] = []
    return heard, heard.append


def assert_ordered(row: dict[str, float]) -> None:
    assert 0 <= row["p5"] <= row["median"] <= row["p95"]


@pytest.mark.parametrize(("layers", "minutes"), [(False, None), (True, None), (False, 0.002)])
def test_a_result_is_as_its_schema_says(tmp_path: Path, layers: bool, minutes: float | None) -> None:
    heard, count = told()
    result = measure(write_tiny(tmp_path), runs=5, warm_up=2, layers=layers, minutes=minutes, progress=count)
    VALIDATOR.validate(json.loads(json.dumps(result)))
    assert sum(heard) == steps_of(5, 2, layers, minutes)
    assert ("profile" in result, "sustained" in result) == (layers, minutes is not None)


def test_the_schema_refuses_what_is_no_result(tmp_path: Path) -> None:
    result = measure(write_tiny(tmp_path), runs=1, warm_up=0)
    for wrong in ({"version": 2}, {"more": 1}, {"runs_ms": {}}, {"counts": {**result["counts"], "draws": 1.5}}):
        assert not VALIDATOR.is_valid({**result, **wrong})


def test_a_result_says_what_was_measured_and_where(tmp_path: Path, context: Context) -> None:
    path = write_tiny(tmp_path)
    result = measure(path, runs=3, warm_up=0)
    assert result["model"] == {"file": str(path), "name": "tiny", "input": 9, "layers": 8}
    context.make_current()
    assert result["machine"]["renderer"] == context.gl.text(GL.GL_RENDERER)
    assert result["settings"] == {"warm_up": 0, "runs": 3, "cache": True}
    assert result["counts"]["peak_rss_bytes"] > result["counts"]["texture_bytes"]


def test_the_steps_make_the_whole(tmp_path: Path) -> None:
    result = measure(write_tiny(tmp_path), runs=7, warm_up=1)
    runs = result["runs_ms"]
    assert {len(times) for times in runs.values()} == {7}
    for upload, submit, gpu, read_back, total in zip(*(runs[step] for step in frames.STEPS)):
        assert submit <= gpu
        assert upload + gpu + read_back == pytest.approx(total, abs=0.002)  # each is rounded to the microsecond
    for step, row in result["frame_ms"].items():
        assert_ordered(row)
        assert min(runs[step]) <= row["median"] <= max(runs[step])
    start = result["start_ms"]
    assert sum(time for step, time in start.items() if step not in ("isolation", "total")) == pytest.approx(
        start["total"], abs=0.001
    )
    assert min(start[step] for step in ("bundle", "programs", "textures", "first_run")) > 0


@pytest.mark.parametrize("queries", [False, True])
def test_a_profile_has_every_layer_that_draws(context: Context, queries: bool) -> None:
    if queries and not timer_queries.available(context):
        pytest.skip("this driver has no timer queries")
    heard, count = told()
    with Session(tiny_bundle(), context=context) as session:
        expected = session.run(tiny_picture(1))
        session.run(tiny_picture(2))
        found = profile(session, tiny_picture(1), 4, 2, count, queries=queries)
        np.testing.assert_array_equal(session.read_back(), expected)
        passes = session.bundle.manifest.passes
    assert found["by"] == (QUERIES if queries else FINISHES)
    assert found["runs"] == 4
    assert sum(heard) == 6
    assert [one["layer"] for one in found["layers"]] == list(dict.fromkeys(one.layer for one in passes))
    assert sum(one["draws"] for one in found["layers"]) == len(passes)
    assert sum(one["share"] for one in found["layers"]) == pytest.approx(1.0)
    assert sum(one["ms"]["median"] for one in found["layers"]) == pytest.approx(found["sum_ms"], abs=0.001)
    for one in found["layers"]:
        assert_ordered(one["ms"])
    assert found["layers"][0] == {**found["layers"][0], "layer": "stem", "op": "conv2d", "shape": [5, 5, 6], "draws": 2}


def test_a_profile_takes_the_way_that_the_driver_has(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        found = profile(session, tiny_picture(1), 1, 0, lambda count: None)
    assert found["by"] == (QUERIES if timer_queries.available(context) else FINISHES)


def test_a_sustained_run_counts_every_frame(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        found = sustain(session, inputs_of(session), 0.04, lambda count: None)  # 2.4 s, so two stretches
    assert len(found["windows"]) == 2
    assert [one["from_s"] for one in found["windows"]] == [0.0, 1.2]
    assert sum(one["runs"] for one in found["windows"]) == found["runs"]
    low, high = (edge(one["ms"]["median"] for one in found["windows"]) for edge in (min, max))
    assert low <= found["ms"]["median"] <= high
    first, last = (found["windows"][index]["ms"]["median"] for index in (0, -1))
    assert found["slowdown"] == pytest.approx(last / first)


def test_two_bundles_take_turns(tmp_path: Path) -> None:
    paths = write_tiny(tmp_path, "a.glslnn", "baked"), write_tiny(tmp_path, "b.glslnn", "uniform", "planar")
    heard, count = told()
    found = comparison.bundles(*paths, context="auto", runs=6, warm_up=1, progress=count)
    assert found["paired"] is True
    assert sum(heard) == 2 * (6 + 1)
    assert [found[side]["file"] for side in "ab"] == [str(path) for path in paths]
    assert found["runs"] == 6
    for step in frames.STEPS:
        assert_ordered(found["ratio"][step])
        assert_ordered(found["a"]["frame_ms"][step])
