"""``glsl-infer benchmark`` on a real driver: its output and its files."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from command_line import Capture, refused
from PIL import Image
from tiny import write_tiny

from glsl_infer.cli import benchmark, main
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.support.resources import default_model

FEW = ("--runs", "4", "--warm-up", "1")


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


def test_it_prints_counts_start_and_steps(context: Context, calm: None, tmp_path: Path, capsys: Capture) -> None:
    calls = 133 if driver_of(context).draws_at_once else 137
    path = write_tiny(tmp_path, weights="uniform")
    text = output(capsys, path, *FEW)
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
    output(capsys, path, *FEW)
    kept = 6 if (tmp_path / "cache").exists() else 0  # some drivers provide no program binaries
    found = json.loads(output(capsys, path, *FEW, "--json"))["counts"]
    assert (found["programs"], found["programs_restored"]) == (6, kept)
    assert ("programs (6 of them from the cache)" in output(capsys, path, *FEW)) == bool(kept)
    assert "from the cache" not in output(capsys, path, *FEW, "--no-cache")


def test_the_model_of_the_package_is_the_default(calm: None, capsys: Capture) -> None:
    found = json.loads(output(capsys, *FEW, "--json"))
    assert found["model"]["file"] == str(default_model())


def test_a_profile_as_text_csv_and_picture(calm: None, tmp_path: Path, capsys: Capture) -> None:
    table, plot = tmp_path / "p.csv", tmp_path / "p.png"
    text = output(capsys, write_tiny(tmp_path), *FEW, "--profile", "--csv", table, "--plot", plot)
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
    text = output(capsys, write_tiny(tmp_path), *FEW, "--minutes", "0.005", "--csv", table, "--plot", plot)
    assert "0.005 minutes, " in text
    assert list(rows(table)[0]) == ["from_s", "runs", "ms.median", "ms.p5", "ms.p95"]
    with Image.open(plot) as picture:
        assert picture.format == "PNG"


def test_every_run_is_a_row_of_the_csv(calm: None, tmp_path: Path, capsys: Capture) -> None:
    table = tmp_path / "runs.csv"
    found = json.loads(output(capsys, write_tiny(tmp_path), *FEW, "--json", "--csv", table))
    assert [float(row["total"]) for row in rows(table)] == found["runs_ms"]["total"]
    assert [row["run"] for row in rows(table)] == ["0", "1", "2", "3"]


def test_saved_results_are_compared(calm: None, tmp_path: Path, capsys: Capture) -> None:
    saved = tmp_path / "a.json"
    saved.write_text(output(capsys, write_tiny(tmp_path), *FEW, "--json"), "utf-8")
    text = output(capsys, "--compare", saved, saved)
    assert "as far as the two spreads allow" in text
    found = json.loads(output(capsys, "--compare", saved, saved, "--json"))
    assert {ratio["median"] for ratio in found["ratio"].values()} == {1.0}


def test_bundles_are_compared(calm: None, tmp_path: Path, capsys: Capture) -> None:
    a, b, table = write_tiny(tmp_path, "a.glslnn"), write_tiny(tmp_path, "b.glslnn"), tmp_path / "c.csv"
    text = output(capsys, "--compare", a, b, *FEW, "--csv", table)
    assert "5 % and 95 % of the pairs" in text
    assert [row["step"] for row in rows(table)] == ["upload", "submit", "gpu", "read_back", "total"]


def test_a_busy_machine_is_mentioned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture) -> None:
    monkeypatch.setattr("glsl_infer.tools.benchmark.machine.load", lambda: 400.0)
    assert main(["benchmark", str(write_tiny(tmp_path)), *FEW]) == 0
    assert "warning: other work was running (load average 400 on" in capsys.readouterr().err


def test_a_bar_on_a_terminal(calm: None, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TQDM_MININTERVAL", "0")
    assert main(["benchmark", str(write_tiny(tmp_path)), *FEW]) == 0
    assert "runs: 100%" in capsys.readouterr().err


def test_a_missing_bundle(capsys: Capture, tmp_path: Path) -> None:
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
def test_a_folder_is_no_file_to_write(option: str, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / f"folder.{'csv' if option == '--csv' else 'png'}"
    folder.mkdir()
    assert "is a folder; name a file" in refused(capsys, ["benchmark", "--profile", option, folder])


def test_the_defaults_are_those_of_the_paper() -> None:
    assert (benchmark.WARM_UP, benchmark.RUNS) == (10, 100)
