"""scripts/bench/reliability/: a short run of each script, and refused arguments."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import needs
import pytest
from command_line import run_script
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts/bench/reliability"


def run(name: str, *arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / name), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    if folder is not None:
        environment["TMPDIR"] = str(folder)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kind", "files"), [("bundle", 150), ("tflite", 60), ("onnx", 60)])
def test_files_whose_parts_do_not_fit_together(kind: str, files: int, tmp_path: Path) -> None:
    if kind != "bundle":
        needs.module({"tflite": "ai_edge_litert", "onnx": "onnxruntime"}[kind])
    options = ("--seconds", 200, "--seed", 27, "--no-gl", "--keep", tmp_path / "kept", "--json")
    done = run("fuzz.py", kind, "--files", files, *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["files"], report["findings"], (tmp_path / "kept").exists()) == (files, [], False)
    assert min(report["verdicts"][verdict] for verdict in ("refused", "run")) > 0


@pytest.mark.exhaustive
def test_files_that_run_are_run(tmp_path: Path) -> None:
    done = run("fuzz.py", "--files", 60, "--seconds", 200, "--seed", 1, "--keep", tmp_path, "--json")
    report = json.loads(done.stdout)
    assert report["findings"] == []
    assert {"refused", "run"} <= set(report["verdicts"])


@pytest.mark.exhaustive
def test_memory_objects_and_files_do_not_grow(tmp_path: Path) -> None:
    needs.installed("matplotlib")
    done = run("endurance.py", "--frames", 1000, "--samples", 20, "--plot", tmp_path / "plot.png", "--json")
    report = json.loads(done.stdout)
    assert (report["wrong_results"], report["grown"]["gl_objects"], report["grown"]["files"]) == (0, 0, 0)
    assert report["flat"], report
    assert done.returncode == 0, done.stderr
    assert len(report["samples"]) == 20
    assert report["frames"] == 1000
    assert report["sessions"] == 20
    with Image.open(tmp_path / "plot.png") as plot:
        assert plot.size == (1080, 720)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fuzz.py", "--seconds", "0"), "--seconds 0; give a positive number"),
        (("endurance.py", "--frames", "3"), "--frames 3; at least 100 are needed"),
        (("endurance.py", "--frames", "100", "--samples", "101"), "--samples 101; give 10 to 100"),
        (("endurance.py", "none.glslnn"), "none.glslnn: no such file"),
        (("endurance.py", "--plot", "plot.pdf"), "--plot plot.pdf: name the file *.png"),
    ],
)
def test_bad_arguments_end_with_one_line(arguments: tuple[str, ...], message: str) -> None:
    name, *words = arguments
    done = run_script(SCRIPTS / name, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {message}\n"


@pytest.fixture
def strace() -> str:
    return needs.program("strace", "strace")


@pytest.mark.exhaustive
@pytest.mark.usefixtures("strace")
def test_after_a_power_cut_the_output_is_old_or_complete() -> None:
    done = run("faults.py", "--power", "text", "table", "bundle", "verdict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^4 kinds of faults, [\d,]{3,} faults, 0 wrong$", done.stdout, re.MULTILINE)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("control", ["careless", "in_place"])
def test_unsynced_writes_are_found(control: str) -> None:
    done = run("faults.py", "--power", control)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{control}, power cut before call" in done.stdout
    assert "neither old nor complete" in done.stdout


@pytest.mark.exhaustive
@pytest.mark.usefixtures("strace")
@pytest.mark.slow
def test_killed_or_failed_writes_leave_the_output_old_or_complete() -> None:
    done = run("faults.py", "text")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^10 kinds of faults, [\d,]{3,} faults, 0 wrong$", done.stdout, re.MULTILINE)


def test_an_unknown_output_is_refused() -> None:
    done = run_script(SCRIPTS / "faults.py", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing: no output; there are text, link" in done.stderr


@pytest.mark.exhaustive
def test_memory_is_constant_while_people_come_and_go() -> None:
    done = run("camera_endurance.py", "--frames", 400, "--samples", 20, "--json")
    report = json.loads(done.stdout)
    assert (report["frames"], report["visits"], report["appeared"], report["left"], report["snapshots"]) == (
        400,
        4,
        4,
        4,
        4,
    )
    assert [report["grown"][key] for key in ("gl_objects", "files", "threads")] == [0, 0, 0]
    assert report["flat"], report
    assert done.returncode == 0, done.stderr
