"""A calibrated range covers the observed values, with 0 on a byte."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glsl_infer.compiler.ranges.intervals import NARROWEST, SMALLEST, covering_range
from glsl_infer.program import quantize
from glsl_infer.program.layout import Range, per_channel

ENDS = st.lists(
    st.tuples(st.floats(-1e4, 1e4, allow_subnormal=False), st.floats(-1e4, 1e4, allow_subnormal=False)),
    min_size=1,
    max_size=9,
)


def chosen(ends: list[tuple[float, float]], common: bool, equal: bool) -> tuple[np.ndarray, np.ndarray, Range]:
    low, high = np.array([sorted(end) for end in ends], np.float64).T
    return low, high, covering_range(low, high, common=common, equal=equal)


@given(ENDS, st.booleans(), st.booleans())
def test_ranges_cover_observed_values_and_zero(ends, common, equal) -> None:
    low, high, covering = chosen(ends, common, equal)
    lowest, highest = covering.ends(len(low))
    slack = 1e-6 * per_channel(covering.scales, len(low)) + SMALLEST
    assert (lowest <= np.minimum(low, 0) + slack).all()
    assert (highest >= np.maximum(high, 0) - slack).all()


@given(ENDS, st.booleans(), st.booleans())
def test_zero_is_a_byte(ends, common, equal) -> None:
    low, _, covering = chosen(ends, common, equal)
    scales, zeros = (per_channel(values, len(low)) for values in (covering.scales, covering.zeros))
    assert all(zero == int(zero) and 0 <= zero <= 255 for zero in zeros)
    assert not any(np.signbit(zero) for zero in zeros), "no -0 in a file"
    assert (scales > 0).all() and np.isfinite(scales).all()
    assert (scales == scales.astype(np.float32)).all()
    assert (quantize.round_to_8_bits(np.zeros(len(low)), scales, zeros) == 0).all()


@given(ENDS)
def test_common_is_one_zero_point_and_equal_one_range(ends) -> None:
    assert len(chosen(ends, True, False)[2].zeros) == 1
    ranges = chosen(ends, True, True)[2]
    assert (len(ranges.scales), len(ranges.zeros)) == (1, 1)
    alone = chosen(ends, False, True)[2]
    assert (len(alone.scales), len(alone.zeros)) == (1, 1)


@given(ENDS)
def test_the_narrowest_channel_has_a_share_of_the_widest(ends) -> None:
    low, high, covering = chosen(ends, False, False)
    spans = np.maximum(high, 0) - np.minimum(low, 0)
    assert min(covering.scales) >= (1 - 1e-6) * NARROWEST * spans.max()


@pytest.mark.parametrize(
    "ends, common, equal, expected",
    [
        ([(0, 1)], False, False, Range((1.0,), (0.0,))),
        ([(2, 4)], False, False, Range((4.0,), (0.0,))),
        ([(-4, -2)], False, False, Range((4.0,), (255.0,))),
        ([(-1, 1)], False, False, Range((2.0078740119934082,), (127.0,))),
        ([(0, 1), (0, 2)], False, False, Range((1.5, 2.0), (0.0,))),
        ([(0, 1), (0, 1.2)], False, False, Range((1.2000000476837158,), (0.0,))),
        ([(0, 1), (0, 2)], False, True, Range((2.0,), (0.0,))),
        ([(0, 0)], True, True, Range((1 / 64,), (0.0,))),
        ([(-1e-30, 1e-45)], False, False, Range((0.0156865157186985,), (1.0,))),
    ],
)
def test_chosen_ranges_by_example(ends, common, equal, expected) -> None:
    assert chosen(ends, common, equal)[2] == expected


def test_headroom_ends_where_the_widest_channel_does() -> None:
    low, high = np.array([-1.0, -4.0, 0.0]), np.array([1.0, 0.5, 6.0])
    lowest, highest = covering_range(low, high, common=False, equal=False, headroom=3.0).ends(3)
    np.testing.assert_allclose(lowest, [-3.0, -4.0, 0.0], atol=0.05)
    np.testing.assert_allclose(highest, [3.0, 1.5, 6.0], atol=0.05)


def test_bytes_are_not_wasted() -> None:
    """Each channel's range exceeds its values only by the amount an integer zero point needs."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        low, high = np.sort(rng.normal(size=(2, 4)) * 3, axis=0)
        covering = covering_range(low, high, common=False, equal=False, headroom=1.0)
        needed = np.maximum(high, 0) - np.minimum(low, 0)
        needed = np.maximum(needed, NARROWEST * needed.max())
        zeros = per_channel(covering.zeros, 4)
        rounding = 0.5 / np.maximum(np.minimum(zeros, 255 - zeros), 1)
        assert (per_channel(covering.scales, 4) <= needed * (1.001 + rounding)).all()
