"""Constants without a VideoCore IV immediate: exactly those next to a float that has one."""

from __future__ import annotations

import numpy as np
import pytest

from glsl_infer.lowering.immediates import bound, factor, streamed

POWERS = [2.0**exponent for exponent in range(-8, 8)]


def test_powers_of_two_move_by_one_float_away_from_zero() -> None:
    numbers = np.array([POWERS, np.negative(POWERS)], np.float32)
    shifted = streamed(numbers)
    assert shifted.dtype == np.float32
    assert (np.abs(shifted) > np.abs(numbers)).all()
    assert (np.nextafter(shifted, np.float32(0.0)) == numbers).all()


def test_all_other_numbers_stay() -> None:
    numbers = np.array([0.0, 0.3, -3.0, 256.0, 1.0 / 512.0, 1.0000001, 5.5], np.float32)
    assert streamed(numbers).tobytes() == numbers.tobytes()
    assert streamed(np.zeros((2, 0, 4), np.float32)).shape == (2, 0, 4)


@pytest.mark.parametrize("number", [*POWERS, 0.2, 3.0])
def test_factors_and_bounds_change_by_no_more_than_a_float(number: float) -> None:
    assert factor(number) == pytest.approx(number, rel=1.2e-7)
    assert bound(-number) == pytest.approx(-number, rel=1.2e-7)


def test_a_bound_of_zero_is_almost_zero() -> None:
    assert 0.0 < bound(0.0) * 255.0 < 1e-6
    assert factor(0.0) == 0.0
