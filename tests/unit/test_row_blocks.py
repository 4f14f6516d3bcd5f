"""Functions of large arrays, applied to blocks of rows."""

from __future__ import annotations

import numpy as np
import pytest

from glsl_infer.program import quantize
from glsl_infer.support import blocks


@pytest.mark.parametrize("bits", [8, 16])
def test_rows_are_stored_as_in_the_complete_map(bits: int) -> None:
    shape = (70, 40, 33)
    assert np.prod(shape) > blocks.BLOCK_ELEMENTS
    values = np.random.default_rng(3).normal(size=shape)
    scales, zeros = np.linspace(1.0, 9.0, 33), np.arange(33.0)
    stored = quantize.round_to_map(values, scales, zeros, bits)
    rows = np.stack([quantize.round_to_map(row[None], scales, zeros, bits)[0] for row in values])
    assert np.array_equal(stored, rows) and len(np.unique(stored[..., 0])) > 100
    assert [block.indices(70) for block in blocks.rows(shape)] == [(0, 49, 1), (49, 70, 1)]
    assert [*blocks.rows((3,))] == [slice(0, blocks.BLOCK_ELEMENTS)] and not [*blocks.rows((0, 4))]


def test_a_function_is_applied_to_a_few_rows_at_a_time() -> None:
    values = np.random.default_rng(4).normal(size=(70, 40, 33)).astype(np.float32)
    original, block_heights = values.copy(), []

    def clamp(block: np.ndarray) -> np.ndarray:
        block_heights.append(len(block))
        return np.maximum(block, np.linspace(-1.0, 1.0, 33, dtype=np.float32))

    result = blocks.entrywise(clamp, values, np.float32)
    assert block_heights == [49, 21] and np.array_equal(result, clamp(original)) and np.array_equal(values, original)
    assert blocks.entrywise(lambda block: block, values, np.float32) is values, "the identity copies nothing"
    assert blocks.entrywise(lambda block: block, values, np.float64).dtype == np.float64
    assert blocks.entrywise(clamp, values, np.float32, into=values) is values and np.array_equal(values, result)
