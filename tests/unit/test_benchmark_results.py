"""Benchmark results: statistics, saved files, refused requests, and ratios."""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Capture, refused, run_python

from glsl_infer.cli.benchmark import table_of
from glsl_infer.errors import InputError
from glsl_infer.support.stopwatch import Stopwatch
from glsl_infer.tools.benchmark import comparison, machine, result
from glsl_infer.tools.benchmark.frames import STEPS, milliseconds, summary
from glsl_infer.tools.benchmark.sustained import slowdown


def test_percentiles_are_interpolated() -> None:
    assert summary([float(value) for value in range(101)]) == {"median": 50.0, "p5": 5.0, "p95": 95.0}
    assert summary([3.0]) == {"median": 3.0, "p5": 3.0, "p95": 3.0}
    assert summary([4.0, 1.0]) == pytest.approx({"median": 2.5, "p5": 1.15, "p95": 3.85})


def test_milliseconds_end_at_the_microsecond() -> None:
    assert milliseconds(0.0123456789) == 12.346


@pytest.mark.parametrize(
    ("medians", "ratio"),
    [([2.0], 1.0), ([2.0, 3.0], 1.5), ([1.0] * 10 + [9.0] * 80 + [2.0] * 10, 2.0), ([4.0] * 30 + [2.0] * 3, 0.5)],
)
def test_slowdown_is_the_last_tenth_by_the_first(medians: list[float], ratio: float) -> None:
    assert slowdown(medians) == ratio


def test_laps_follow_each_other() -> None:
    clock = Stopwatch()
    clock.lap("first")
    clock.lap("second")
    assert list(clock.laps) == ["first", "second"]
    assert min(clock.laps.values()) >= 0


def test_peak_memory_stays_when_memory_is_freed() -> None:
    program = (
        "from glsl_infer.tools.benchmark.machine import peak_rss\nbefore = peak_rss()\n"
        "held = bytearray(b'x') * (200 << 20)\n"
        "during = peak_rss()\ndel held\nprint(before, during, peak_rss())"
    )
    done = run_python("-c", program, check=True)
    before, during, after = map(int, done.stdout.split())
    assert during - before > 190 << 20
    assert after > during - (1 << 20)  # the kernel's count is not exact


def test_cores_are_those_of_this_process() -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)


def test_rows_of_a_table_are_flat() -> None:
    ratio = {"total": {"median": 1.0, "p5": 0.5, "p95": 2.0}}
    assert table_of({"ratio": ratio}) == [{"step": "total", "median": 1.0, "p5": 0.5, "p95": 2.0}]
    windows = [{"from_s": 0.0, "runs": 2, "ms": {"median": 1.0}}]
    assert table_of({"sustained": {"windows": windows}}) == [{"from_s": 0.0, "runs": 2, "ms.median": 1.0}]
    assert table_of({"runs_ms": {"gpu": [1.0, 2.0], "total": [3.0, 4.0]}}) == [
        {"run": 0, "gpu": 1.0, "total": 3.0},
        {"run": 1, "gpu": 2.0, "total": 4.0},
    ]


def test_without_proc_peak_rss_is_that_of_getrusage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_text", lambda path: "")
    assert machine.peak_rss() == 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


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


def write_json(path: Path, data: object) -> Path:
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
    wrong, good = tmp_path / "wrong.json", write_json(tmp_path / "good.json", saved_result())
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
    paths = write_json(tmp_path / "a.json", fast), write_json(tmp_path / "b.json", slow)
    assert main(["benchmark", "--compare", *map(str, paths)]) == 0
    printed = capsys.readouterr()
    assert printed.err == "warning: the results are from different machines: CPU: C and D\n"
    assert "1.500" in printed.out


def test_the_ratio_of_two_results_and_its_spread() -> None:
    result = comparison.results(Path("a"), Path("b"), (saved_result(), saved_result(median=3.0, p5=2.0, p95=6.0)))
    assert result["paired"] is False
    for step in STEPS:
        assert result["ratio"][step] == {"median": 1.5, "p5": 0.5, "p95": 6.0}
