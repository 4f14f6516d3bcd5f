"""Benchmarks on a real driver: results, output and files. Times are only compared with each other."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command_line import Capture, refused
from PIL import Image
from tiny import tiny_bundle, tiny_picture, write_tiny

import glsl_infer
from glsl_infer.cli import benchmark, main
from glsl_infer.gl import constants as GL
from glsl_infer.gl import timer_queries
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.session import Session
from glsl_infer.support.resources import default_model
from glsl_infer.tools.benchmark import comparison, frames
from glsl_infer.tools.benchmark.measuring import inputs_of, measure, steps_of
from glsl_infer.tools.benchmark.profile import FINISHES, QUERIES, profile
from glsl_infer.tools.benchmark.sustained import sustain

SCHEMA = json.loads((Path(glsl_infer.__file__).parent / "tools/benchmark/result.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def listener() -> tuple[list[int], Any]:
    """Return a list and its append function, as a progress callback."""
    steps: list[int] = []
    return steps, steps.append


def assert_ordered(row: dict[str, float]) -> None:
    assert 0 <= row["p5"] <= row["median"] <= row["p95"]


@pytest.mark.drivers("all")
@pytest.mark.parametrize(("layers", "minutes"), [(False, None), (True, None), (False, 0.002)])
def test_a_result_matches_its_schema(tmp_path: Path, layers: bool, minutes: float | None) -> None:
    steps, count = listener()
    result = measure(write_tiny(tmp_path), runs=5, warm_up=2, layers=layers, minutes=minutes, progress=count)
    VALIDATOR.validate(json.loads(json.dumps(result)))
    assert sum(steps) == steps_of(5, 2, layers, minutes)
    assert ("profile" in result, "sustained" in result) == (layers, minutes is not None)


@pytest.mark.drivers("all")
def test_the_schema_refuses_changed_results(tmp_path: Path) -> None:
    result = measure(write_tiny(tmp_path), runs=1, warm_up=0)
    for wrong in ({"version": 2}, {"more": 1}, {"runs_ms": {}}, {"counts": {**result["counts"], "draws": 1.5}}):
        assert not VALIDATOR.is_valid({**result, **wrong})


@pytest.mark.drivers("all")
def test_a_result_has_the_model_and_the_machine(tmp_path: Path, context: Context) -> None:
    path = write_tiny(tmp_path)
    result = measure(path, runs=3, warm_up=0)
    assert result["model"] == {"file": str(path), "name": "tiny", "input": 9, "layers": 8}
    context.make_current()
    assert result["machine"]["renderer"] == context.gl.text(GL.GL_RENDERER)
    assert result["settings"] == {"warm_up": 0, "runs": 3, "cache": True}
    assert result["counts"]["peak_rss_bytes"] > result["counts"]["texture_bytes"]


@pytest.mark.drivers("all")
def test_the_steps_add_up_to_the_frame(tmp_path: Path) -> None:
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


@pytest.mark.drivers("all")
@pytest.mark.parametrize("queries", [False, True])
def test_a_profile_has_every_layer_that_draws(context: Context, queries: bool) -> None:
    if queries and not timer_queries.available(context):
        pytest.skip("this driver has no timer queries")
    steps, count = listener()
    with Session(tiny_bundle(), context=context) as session:
        expected = session.run(tiny_picture(1))
        session.run(tiny_picture(2))
        result = profile(session, tiny_picture(1), 4, 2, count, queries=queries)
        np.testing.assert_array_equal(session.read_back(), expected)
        passes = session.bundle.manifest.passes
    assert result["by"] == (QUERIES if queries else FINISHES)
    assert result["runs"] == 4
    assert sum(steps) == 6
    assert [layer["layer"] for layer in result["layers"]] == list(dict.fromkeys(layer.layer for layer in passes))
    assert sum(layer["draws"] for layer in result["layers"]) == len(passes)
    assert sum(layer["share"] for layer in result["layers"]) == pytest.approx(1.0)
    assert sum(layer["ms"]["median"] for layer in result["layers"]) == pytest.approx(result["sum_ms"], abs=0.001)
    for layer in result["layers"]:
        assert_ordered(layer["ms"])
    assert result["layers"][0] == {
        **result["layers"][0],
        "layer": "stem",
        "op": "conv2d",
        "shape": [5, 5, 6],
        "draws": 2,
    }


@pytest.mark.drivers("all")
def test_a_profile_uses_the_timer_of_the_driver(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        result = profile(session, tiny_picture(1), 1, 0, lambda count: None)
    assert result["by"] == (QUERIES if timer_queries.available(context) else FINISHES)


@pytest.mark.drivers("all")
def test_a_sustained_run_counts_every_frame(context: Context) -> None:
    with Session(tiny_bundle(), context=context) as session:
        result = sustain(session, inputs_of(session), 0.04, lambda count: None)  # 2.4 s, so two stretches
    assert len(result["windows"]) == 2
    assert [window["from_s"] for window in result["windows"]] == [0.0, 1.2]
    assert sum(window["runs"] for window in result["windows"]) == result["runs"]
    low, high = (edge(window["ms"]["median"] for window in result["windows"]) for edge in (min, max))
    assert low <= result["ms"]["median"] <= high
    first, last = (result["windows"][index]["ms"]["median"] for index in (0, -1))
    assert result["slowdown"] == pytest.approx(last / first)


@pytest.mark.drivers("all")
def test_two_bundles_take_turns(tmp_path: Path) -> None:
    paths = write_tiny(tmp_path, "a.glslnn", "baked"), write_tiny(tmp_path, "b.glslnn", "uniform", "planar")
    steps, count = listener()
    result = comparison.bundles(*paths, context="auto", runs=6, warm_up=1, progress=count)
    assert result["paired"] is True
    assert sum(steps) == 2 * (6 + 1)
    assert [result[side]["file"] for side in "ab"] == [str(path) for path in paths]
    assert result["runs"] == 6
    for step in frames.STEPS:
        assert_ordered(result["ratio"][step])
        assert_ordered(result["a"]["frame_ms"][step])


FEW_RUNS = ("--runs", "4", "--warm-up", "1")


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without load, to avoid warnings about load."""
    monkeypatch.setattr("glsl_infer.tools.benchmark.machine.load", lambda: 0.0)


def output(capsys: Capture, *arguments: object) -> str:
    assert main(["benchmark", *map(str, arguments)]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_command_prints_counts_start_and_steps(
    context: Context, calm: None, tmp_path: Path, capsys: Capture
) -> None:
    calls = 133 if driver_of(context).draws_at_once else 137
    path = write_tiny(tmp_path, weights="uniform")
    text = output(capsys, path, *FEW_RUNS)
    assert f"{path} (tiny, 9x9)" in text
    assert f"53 draws in 6 jobs, {calls} GL calls (and 3 to upload, 2 to read back)" in text
    assert "6 programs, 7 textures of 0.01 MB" in text
    for word in ("compile the programs", "first run", "4 runs after 1, ms", "GPU, submit until finished", "read-back"):
        assert word in text


def test_programs_from_the_cache_are_counted(
    calm: None, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLSL_INFER_CACHE", str(tmp_path / "cache"))
    path = write_tiny(tmp_path)
    output(capsys, path, *FEW_RUNS)
    cached = 6 if (tmp_path / "cache").exists() else 0  # some drivers provide no program binaries
    report = json.loads(output(capsys, path, *FEW_RUNS, "--json"))["counts"]
    assert (report["programs"], report["programs_restored"]) == (6, cached)
    assert ("programs (6 of them from the cache)" in output(capsys, path, *FEW_RUNS)) == bool(cached)
    assert "from the cache" not in output(capsys, path, *FEW_RUNS, "--no-cache")


def test_the_model_of_the_package_is_the_default(calm: None, capsys: Capture) -> None:
    report = json.loads(output(capsys, *FEW_RUNS, "--json"))
    assert report["model"]["file"] == str(default_model())


def test_a_profile_as_text_csv_and_picture(calm: None, tmp_path: Path, capsys: Capture) -> None:
    table, plot = tmp_path / "p.csv", tmp_path / "p.png"
    text = output(capsys, write_tiny(tmp_path), *FEW_RUNS, "--profile", "--csv", table, "--plot", plot)
    assert "measured by " in text
    assert [row["layer"] for row in rows(table)][:2] == ["stem", "expand"]
    assert float(rows(table)[0]["ms.median"]) >= 0
    assert rows(table)[0]["shape"] == "5x5x6"
    for row in rows(table):
        assert f"\n{row['layer']:24} {row['op']:20}" in text
    with Image.open(plot) as picture:
        assert picture.format == "PNG"
        assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 20


def test_a_sustained_run_as_text_csv_and_picture(calm: None, tmp_path: Path, capsys: Capture) -> None:
    table, plot = tmp_path / "s.csv", tmp_path / "s.png"
    text = output(capsys, write_tiny(tmp_path), *FEW_RUNS, "--minutes", "0.005", "--csv", table, "--plot", plot)
    assert "0.005 minutes, " in text
    assert list(rows(table)[0]) == ["from_s", "runs", "ms.median", "ms.p5", "ms.p95"]
    with Image.open(plot) as picture:
        assert picture.format == "PNG"


def test_every_run_is_a_row_of_the_csv(calm: None, tmp_path: Path, capsys: Capture) -> None:
    table = tmp_path / "runs.csv"
    report = json.loads(output(capsys, write_tiny(tmp_path), *FEW_RUNS, "--json", "--csv", table))
    assert [float(row["total"]) for row in rows(table)] == report["runs_ms"]["total"]
    assert [row["run"] for row in rows(table)] == ["0", "1", "2", "3"]


def test_saved_results_are_compared(calm: None, tmp_path: Path, capsys: Capture) -> None:
    saved = tmp_path / "a.json"
    saved.write_text(output(capsys, write_tiny(tmp_path), *FEW_RUNS, "--json"), "utf-8")
    text = output(capsys, "--compare", saved, saved)
    assert "as far as the two spreads allow" in text
    report = json.loads(output(capsys, "--compare", saved, saved, "--json"))
    assert {ratio["median"] for ratio in report["ratio"].values()} == {1.0}


def test_bundles_are_compared(calm: None, tmp_path: Path, capsys: Capture) -> None:
    a, b, table = write_tiny(tmp_path, "a.glslnn"), write_tiny(tmp_path, "b.glslnn"), tmp_path / "c.csv"
    text = output(capsys, "--compare", a, b, *FEW_RUNS, "--csv", table)
    assert "5 % and 95 % of the pairs" in text
    assert [row["step"] for row in rows(table)] == ["upload", "submit", "gpu", "read_back", "total"]


def test_a_busy_machine_is_mentioned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture) -> None:
    monkeypatch.setattr("glsl_infer.tools.benchmark.machine.load", lambda: 400.0)
    assert main(["benchmark", str(write_tiny(tmp_path)), *FEW_RUNS]) == 0
    assert "warning: other programs were running (load average 400 on" in capsys.readouterr().err


def test_a_bar_on_a_terminal(calm: None, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    assert main(["benchmark", str(write_tiny(tmp_path)), *FEW_RUNS]) == 0
    assert "benchmark: 100%" in capsys.readouterr().err


def test_a_missing_bundle_is_reported(capsys: Capture, tmp_path: Path) -> None:
    missing = tmp_path / "no.glslnn"
    assert f"{missing}: no such file" in refused(capsys, ["benchmark", missing])
    assert f"{missing}: no such file" in refused(capsys, ["benchmark", "--compare", missing, missing])


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_a_failed_benchmark_leaves_old_files_as_they_were(option: str, tmp_path: Path, capsys: Capture) -> None:
    old = tmp_path / f"old.{'csv' if option == '--csv' else 'png'}"
    old.write_text("kept")
    refused(capsys, ["benchmark", tmp_path / "no.glslnn", "--profile", option, old])
    assert [path.name for path in tmp_path.iterdir()] == [old.name]
    assert old.read_text() == "kept"


@pytest.mark.parametrize("option", ["--csv", "--plot"])
def test_a_folder_as_output_file_is_refused(option: str, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / f"folder.{'csv' if option == '--csv' else 'png'}"
    folder.mkdir()
    assert "is a folder; name a file" in refused(capsys, ["benchmark", "--profile", option, folder])


def test_the_defaults_are_those_of_the_paper() -> None:
    assert (benchmark.WARM_UP, benchmark.RUNS) == (10, 100)
