"""report and doctor on this machine: the files, the pages, and failing parts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Capture, refused
from tiny import write_tiny

from glsl_infer.cli import main
from glsl_infer.tools.report import saved
from glsl_infer.tools.report.page import page


@pytest.mark.exhaustive
def test_report_has_driver_checks_and_model(tmp_path: Path, capsys: Capture) -> None:
    model, output = write_tiny(tmp_path), tmp_path / "report.json"
    assert (
        main(["report", str(model), "-o", str(output), "--runs", "2", "--minutes", "0.02", "--note", "a <desk>"]) == 0
    )
    printed = capsys.readouterr()
    assert f"wrote {output} (to send)" in printed.out
    report = saved.read(output)
    assert report["driver"]["renderer"] in printed.out
    assert {"python", "memory", "driver"} <= {check["check"] for check in report["checks"]}
    (entry,) = report["models"]
    assert entry["selfcheck"]["passed"] is True
    times = saved.frame_ms(entry)
    assert times is not None
    assert 0 < times["p5"] <= times["median"] <= times["p95"]
    assert report["sustained"]["runs"] > 0
    assert entry["counters"] == {} or any(value is not None for value in entry["counters"].values())
    written = output.with_suffix(".html").read_text("utf-8")
    assert written == page(report)
    assert "a &lt;desk&gt;" in written
    assert str(tmp_path) not in output.read_text("utf-8")  # a folder's name may contain a user's


def test_a_model_that_fails_is_in_the_report(tmp_path: Path, capsys: Capture) -> None:
    broken, output = tmp_path / "broken.glslnn", tmp_path / "report.json"
    broken.write_bytes(b"PK\x03\x04 cut off")
    assert main(["report", str(broken), "-o", str(output), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    (entry,) = report["models"]
    for part in ("selfcheck", "benchmark", "counters"):
        assert "not a glsl-infer model" in entry[part]["failed"]
    assert "not a glsl-infer model" in output.with_suffix(".html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gone.glslnn"], "no such file: gone.glslnn"),
        (["-o", "report.txt"], "name the file *.json"),
        (["-o", "gone/report.json"], "no such folder"),
        (["--minutes", "0"], "--minutes 0"),
        (["--runs", "0"], "--runs 0"),
    ],
)
def test_contradictory_options_are_refused(
    arguments: list[str], words: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, ["report", *arguments])
    assert not list(tmp_path.iterdir())


NO_NUMPY = """
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] == "numpy" else find(name, *more)
"""


def run_apart(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "glsl_infer", "doctor", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_this_machine_is_right(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", str(write_tiny(tmp_path))]) == 0
    printed = capsys.readouterr()
    lines = [line.split() for line in printed.out.splitlines() if line and not line.startswith(" ")]
    names = [words[1] for words in lines if words[0] in ("ok", "warning", "problem")]
    assert {"board", "system", "memory", "cache", "python", "libraries", "driver", "layers"} <= set(names)
    assert not {"camera", "config.txt", "power"} & set(names)
    assert "layers of tiny are computed correctly" in printed.out
    assert (
        printed.out.splitlines()[-1] == "no problems found" or "glsl-infer works here" in printed.out.splitlines()[-1]
    )


def test_json_has_all_figures_and_names_no_folder(tmp_path: Path, capsys: Capture) -> None:
    assert main(["doctor", "--json", str(write_tiny(tmp_path))]) == 0
    text = capsys.readouterr().out
    answer = json.loads(text)
    assert answer["format"] == "glsl-infer doctor" and answer["passed"] is True
    checks = {entry["check"]: entry for entry in answer["checks"]}
    assert checks["memory"]["figures"]["available"] > 0
    assert checks["python"]["figures"]["packages"].keys() >= {"numpy", "PIL", "OpenGL"}
    assert checks["layers"]["figures"]["passed"] is True and checks["layers"]["figures"]["layers"]
    assert answer["driver"]["limits"]["GL_MAX_TEXTURE_SIZE"] >= 64
    assert str(tmp_path) not in text


def test_a_report_without_layers_needs_no_model(capsys: Capture) -> None:
    assert main(["doctor", "--no-selfcheck", "--json"]) == 0
    assert "layers" not in {entry["check"] for entry in json.loads(capsys.readouterr().out)["checks"]}


def test_models_that_cannot_be_used(tmp_path: Path, capsys: Capture) -> None:
    assert "no such file" in refused(capsys, ["doctor", tmp_path / "gone.glslnn"])
    (tmp_path / "damaged.glslnn").write_bytes(b"PK\x03\x04 cut off")
    assert main(["doctor", str(tmp_path / "damaged.glslnn")]) == 1
    assert f"problem  layers      {tmp_path / 'damaged.glslnn'}: " in capsys.readouterr().out


@pytest.mark.usefixtures("no_screen")
def test_without_a_driver_all_else_is_checked() -> None:
    done = run_apart(__EGL_VENDOR_LIBRARY_FILENAMES="/nonexistent.json")
    assert done.returncode == 1, done.stderr
    assert "problem  driver      no OpenGL ES 2.0 context: " in done.stdout
    assert "libgl1-mesa-dri" in done.stdout
    assert "warning  layers" in done.stdout and "ok       python" in done.stdout
    assert re.match(r"[1-9]\d* problem", done.stdout.splitlines()[-1])


def test_without_numpy_all_else_is_checked(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NO_NUMPY)
    done = run_apart(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert done.returncode == 1, done.stderr
    assert "problem  python      NumPy is not installed" in done.stdout
    assert re.search(r"^\w+ +memory ", done.stdout, re.MULTILINE)
    assert re.search(r"^\w+ +libraries ", done.stdout, re.MULTILINE)
    assert re.match(r"([2-9]|\d\d) problems", done.stdout.splitlines()[-1])
