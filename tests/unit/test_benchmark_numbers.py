"""Statistics of benchmark measurements."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from glsl_infer.cli.benchmark import table_of
from glsl_infer.support.stopwatch import Stopwatch
from glsl_infer.tools.benchmark import machine
from glsl_infer.tools.benchmark.frames import milliseconds, summary
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
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
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
