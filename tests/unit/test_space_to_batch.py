"""Space to batch, a convolution, batch to space: equal to one dilated convolution."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from glsl_infer.importers.core.convolutions import dilated_padding
from glsl_infer.ops.convolution_window import convolve
from glsl_infer.ops.zero_padding import pad

Map = NDArray[np.float64]
PAIR = st.tuples(st.integers(1, 3), st.integers(1, 3))


def by_phases(x: Map, kernel: Map, block: tuple[int, int], padding: tuple[int, ...], inner: tuple[int, ...]) -> Map:
    """Pad, convolve every phase separately, and merge the phases."""
    x = pad(x, padding)
    phases = {
        (y, z): convolve(pad(x[y :: block[0], z :: block[1]], inner), kernel, (1, 1), 1)
        for y in range(block[0])
        for z in range(block[1])
    }
    height, width, filters = phases[0, 0].shape
    out = np.zeros((height * block[0], width * block[1], filters))
    for (y, z), phase in phases.items():
        out[y :: block[0], z :: block[1]] = phase
    return out


@given(
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    block=PAIR,
    kernel_size=PAIR,
    before=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    inner=st.tuples(*[st.integers(0, 1)] * 4),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_all_three_are_one(size, block, kernel_size, before, inner, seed) -> None:
    rng = np.random.default_rng(seed)
    x, kernel = rng.normal(size=(*size, 2)), rng.normal(size=(*kernel_size, 2, 3))
    # As in TensorFlow: the end is padded to full blocks, and phases are at least as large as the kernel.
    long = [
        max(-(-(actual + first) // step), taps) * step
        for actual, first, step, taps in zip(size, before, block, kernel_size)
    ]
    after = [whole - actual - first for whole, actual, first in zip(long, size, before)]
    padding = (before[0], after[0], before[1], after[1])
    whole = by_phases(x, kernel, block, padding, inner)
    crops = tuple(int(rng.integers(0, max(1, length // 3))) for length in np.repeat(whole.shape[:2], 2))
    expected = whole[crops[0] : whole.shape[0] - crops[1], crops[2] : whole.shape[1] - crops[3]]
    around = dilated_padding(block, padding, crops, inner)
    actual = convolve(pad(x, [max(side, 0) for side in around]), kernel, (1, 1), 1, block)
    cut = [max(-side, 0) for side in around]
    actual = actual[cut[0] : actual.shape[0] - cut[1], cut[2] : actual.shape[1] - cut[3]]
    np.testing.assert_allclose(actual, expected, atol=1e-9)
