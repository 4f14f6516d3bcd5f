"""Weights rounded jointly change the outputs less than weights rounded to the nearest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from glsl_infer.lowering import weight_bytes, weight_rounding
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.weight_texture import Constants

SHAPES = [((1, 1, 16, 8), 1), ((3, 3, 6, 5), 1), ((3, 3, 1, 8), 8), ((3, 3, 3, 12), 2)]
"""Kernels and groups: 1x1, lanes beyond the last channel, depthwise, slices whose groups read different lanes."""


class Seen:
    """Texels that correlate between columns, as in photographs, and are never dark."""

    def __init__(self, count: int, lanes: int, positions: int, seed: int) -> None:
        directions = np.random.default_rng(0).normal(0.0, 0.15, (count, 2))  # shared by all images
        rng = np.random.default_rng(seed)
        common = np.einsum("cf,fpl->cpl", directions, rng.normal(0.0, 1.0, (2, positions, lanes)))
        self.values = np.clip(0.5 + common + rng.normal(0.0, 0.02, (count, positions, lanes)), 0.0, 1.0)

    def __call__(self, reads: Sequence[int]) -> NDArray[np.float32]:
        return self.values.astype(np.float32)


@pytest.mark.parametrize(("shape", "groups"), SHAPES)
def test_outputs_move_less_than_by_the_nearest_weights_on_texels_never_seen(
    shape: tuple[int, int, int, int], groups: int
) -> None:
    columns = columns_of(shape, groups)
    kernel = np.random.default_rng(1).normal(0.0, 1.0, shape).astype(np.float32)
    weights = columns.pack(kernel).astype(np.float64)
    lanes = 4 if columns.depthwise else 1
    seen, other = Seen(columns.count, lanes, 900, 2), Seen(columns.count, lanes, 900, 3)
    step = np.abs(weights).max() / 20.0

    def error(whole: NDArray[np.int64]) -> float:
        differences = np.einsum(
            "cpl,scl->psl", np.broadcast_to(other.values, (*other.values.shape[:2], 4)), whole * step - weights
        )
        return float(np.sqrt((differences**2).mean()))

    together = weight_rounding.rounded(weights / step, 20, columns=columns, column_factors=seen)
    assert not together[~columns.used].any()
    assert np.abs(together).max() <= 20
    nearest = np.rint(weights / step).astype(np.int64)
    assert error(together) < 0.8 * error(nearest)
    assert error(together) < 0.8 * error(weight_bytes.sums_kept(weights / step))


def test_texels_that_are_always_0_leave_the_nearest_weights() -> None:
    columns = columns_of((1, 1, 4, 4), 1)
    numbers = np.random.default_rng(4).normal(0.0, 5.0, (1, 4, 4))
    nothing = np.zeros((4, 50, 1), np.float32)
    whole = weight_rounding.rounded(numbers, 127, columns=columns, column_factors=lambda reads: nothing)
    assert (whole == np.rint(numbers)).all()


def test_biases_compensate_the_mean_of_the_rounding() -> None:
    columns = columns_of((1, 1, 12, 8), 1)
    rng = np.random.default_rng(5)
    weights, bias = rng.normal(0.0, 0.1, (2, 12, 4)), rng.normal(0.0, 0.1, (2, 4))
    seen = Seen(12, 1, 400, 6)
    stored = weight_bytes.pack(
        Constants(weights, bias),
        lambda numbers, most: weight_rounding.rounded(numbers, most, columns=columns, column_factors=seen),
        lambda added: weight_rounding.output_shift(added, columns=columns, column_factors=seen),
    ).unpack()
    means = seen.values.mean(axis=1)
    error = (means * (stored.weights - weights)).sum(axis=1) + stored.bias - bias
    assert np.abs(error).max() < 1e-6


def test_depthwise_filters_side_by_side_are_those_of_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Depthwise filters rounded together equal those rounded alone, also with zero inputs and in several batches."""
    rng = np.random.default_rng(5)
    columns, alone = columns_of((3, 3, 1, 8), 8), columns_of((3, 3, 1, 1), 1)
    texels = rng.uniform(0.0, 1.0, (2, 9, 300, 4)).astype(np.float32)
    texels[1, :, :, 2] = 0.0
    numbers = rng.normal(0.0, 9.0, (2, 9, 4))
    monkeypatch.setattr(weight_rounding, "AT_A_TIME", 3)
    rounded = weight_rounding.rounded(numbers, 20, columns=columns, column_factors=lambda reads: texels[reads[0]])
    for index, lane in np.ndindex(2, 4):
        values = np.zeros((1, 9, 4))
        values[0, :, 0] = numbers[index, :, lane]
        result = weight_rounding.rounded(
            values, 20, columns=alone, column_factors=lambda _, index=index, lane=lane: texels[index, :, :, lane, None]
        )
        assert result[0, :, 0].tolist() == rounded[index, :, lane].tolist()
