"""``glsl-infer benchmark`` refuses invalid requests before it measures anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, refused

from glsl_infer.errors import InputError
from glsl_infer.tools.benchmark import comparison, result
from glsl_infer.tools.benchmark.frames import STEPS


def saved_result(**times: float) -> dict[str, Any]:
    """Return a saved benchmark result with these times for every step."""
    row = {"median": 2.0, "p5": 1.0, "p95": 4.0, **times}
    return {
        "format": result.FORMAT,
        "version": result.VERSION,
        "model": {"file": "m.glslnn"},
        "machine": {"renderer": "R", "version": "V", "cpu": "C", "cores": 2, "python": "3.11.2"},
        "frame_ms": {step: dict(row) for step in STEPS},
    }


def written(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), "utf-8")
    return path


def test_a_plot_without_matplotlib(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = refused(capsys, ["benchmark", "--profile", "--plot", "p.png"])
    assert (
        "--plot needs Matplotlib, which is not installed; install it: " in message
        and "-m pip install matplotlib" in message
    )


@pytest.mark.parametrize(
    ("content", "wording"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "not a result that glsl-infer wrote"),
        (b'{"format": "other"}', "not a result that glsl-infer wrote"),
        (json.dumps({**saved_result(), "version": 2}).encode(), "version 2 of the format, where 1 is known"),
        (json.dumps({**saved_result(), "frame_ms": []}).encode(), "damaged: frame_ms.upload.median is not a time"),
        (json.dumps(saved_result(p95=-1.0)).encode(), "damaged: frame_ms.upload.p95 is not a time"),
        (json.dumps(saved_result(p5=float("nan"))).encode(), "damaged: frame_ms.upload.p5 is not a time"),
        (json.dumps({**saved_result(), "machine": {"cpu": 1}}).encode(), "damaged: machine.renderer is not a text"),
        (json.dumps({**saved_result(), "model": None}).encode(), "damaged: model.file is not a text"),
    ],
)
def test_files_without_a_result_are_refused(capsys: Capture, tmp_path: Path, content: bytes, wording: str) -> None:
    wrong, good = tmp_path / "wrong.json", written(tmp_path / "good.json", saved_result())
    wrong.write_bytes(content)
    message = refused(capsys, ["benchmark", "--compare", good, wrong])
    assert message.startswith(f"error: {wrong}: ")
    assert wording in message
    assert "glsl-infer benchmark --json > FILE.json" in message


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder, not a saved result"):
        result.read(tmp_path)


def test_results_of_different_machines_are_compared_with_a_warning(tmp_path: Path, capsys: Capture) -> None:
    from glsl_infer.cli import main

    fast, slow = saved_result(), saved_result(median=3.0)
    slow["machine"]["cpu"] = "D"
    paths = written(tmp_path / "a.json", fast), written(tmp_path / "b.json", slow)
    assert main(["benchmark", "--compare", *map(str, paths)]) == 0
    printed = capsys.readouterr()
    assert printed.err == "warning: the results are from different machines: CPU: C and D\n"
    assert "1.500" in printed.out


def test_the_ratio_of_two_results_and_its_spread() -> None:
    result = comparison.results(Path("a"), Path("b"), (saved_result(), saved_result(median=3.0, p5=2.0, p95=6.0)))
    assert result["paired"] is False
    for step in STEPS:
        assert result["ratio"][step] == {"median": 1.5, "p5": 0.5, "p95": 6.0}
