"""Parallel maps over threads: order, failures, and NumPy's error state."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from glsl_infer.support import parallel


def test_results_are_in_order_and_two_threads_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    both_threads = threading.Barrier(2, timeout=30.0)

    def double(value: int) -> int:
        both_threads.wait()
        return 2 * value

    assert list(parallel.parallel_map(double, range(6))) == [0, 2, 4, 6, 8, 10]
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    assert list(parallel.parallel_map(lambda value: -value, range(3))) == [0, -1, -2]


def test_a_failure_is_raised_and_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    begun: list[int] = []

    def fail(value: int) -> None:
        begun.append(value)
        raise ValueError(value)

    with np.errstate(over="raise"), pytest.raises(ValueError, match="0"):
        list(parallel.parallel_map(fail, range(100)))
    assert len(begun) <= 2


def test_threads_have_the_error_state_of_their_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    with np.errstate(over="ignore"):
        assert list(parallel.parallel_map(np.exp, [np.float32(1000.0)] * 2)) == [np.inf, np.inf]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        list(parallel.parallel_map(np.exp, [np.float32(1000.0)]))
