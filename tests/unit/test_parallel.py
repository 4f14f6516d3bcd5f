"""Parallel results arrive in order and equal sequential ones, and large arrays are processed a few rows at a time."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from glsl_infer.program import quantize
from glsl_infer.support import blocks, parallel


def test_results_come_in_order_and_two_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    both = threading.Barrier(2, timeout=30.0)  # blocks until both threads arrive

    def double(number: int) -> int:
        both.wait()
        return 2 * number

    assert list(parallel.parallel_map(double, range(6))) == [0, 2, 4, 6, 8, 10]
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    assert list(parallel.parallel_map(lambda number: -number, range(3))) == [0, -1, -2]


def test_a_failure_is_raised_and_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    begun = []

    def fail(number: int) -> None:
        begun.append(number)
        raise ValueError(number)

    with np.errstate(over="raise"), pytest.raises(ValueError, match="0"):
        list(parallel.parallel_map(fail, range(100)))
    assert len(begun) <= 2


def test_threads_warn_as_their_caller_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 2)
    with np.errstate(over="ignore"):
        assert list(parallel.parallel_map(np.exp, [np.float32(1000.0)] * 2)) == [np.inf, np.inf]
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        list(parallel.parallel_map(np.exp, [np.float32(1000.0)]))


@pytest.mark.parametrize("bits", [8, 16])
def test_rows_are_stored_as_the_whole_map_is(bits: int) -> None:
    shape = (70, 40, 33)
    assert np.prod(shape) > blocks.BLOCK_ELEMENTS
    values = np.random.default_rng(3).normal(size=shape)
    scales, zeros = np.linspace(1.0, 9.0, 33), np.arange(33.0)
    stored = quantize.store_map(values, scales, zeros, bits)
    rows = np.stack([quantize.store_map(row[None], scales, zeros, bits)[0] for row in values])
    assert np.array_equal(stored, rows) and len(np.unique(stored[..., 0])) > 100
    assert [part.indices(70) for part in blocks.rows(shape)] == [(0, 49, 1), (49, 70, 1)]
    assert [*blocks.rows((3,))] == [slice(0, blocks.BLOCK_ELEMENTS)] and not [*blocks.rows((0, 4))]


def test_a_function_goes_through_a_large_map_a_few_rows_at_a_time() -> None:
    values = np.random.default_rng(4).normal(size=(70, 40, 33)).astype(np.float32)
    original, rows = values.copy(), []

    def function(part: np.ndarray) -> np.ndarray:
        rows.append(len(part))
        return np.maximum(part, np.linspace(-1.0, 1.0, 33, dtype=np.float32))

    result = blocks.entrywise(function, values, np.float32)
    assert rows == [49, 21] and np.array_equal(result, function(original)) and np.array_equal(values, original)
    assert blocks.entrywise(lambda part: part, values, np.float32) is values, "what changes nothing copies nothing"
    assert blocks.entrywise(lambda part: part, values, np.float64).dtype == np.float64
    assert blocks.entrywise(function, values, np.float32, into=values) is values and np.array_equal(values, result)
