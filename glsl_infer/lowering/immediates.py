"""Avoid constants that are expensive immediates on VideoCore IV.

Its instructions have two operations, one for each ALU. A constant comes from the uniform stream, like weights, or is an
immediate, which occupies a register of the other operation and a signal. Then the compiler seldom finds a second
operation that fits. Immediates exist for 0 and for the powers of two from 1/256 to 128. The next float has none, and
the difference does not change a stored result.

A clamp with a bound of 0 costs more: compilers detect a clamp to [0, 1], which this GPU lacks, and need two operations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEARLY_ZERO = 1e-9
"""Replacement for a bound of 0: 1/4,000,000 of an 8-bit step."""

_POWERS = 2.0 ** np.arange(-8, 8)


def streamed(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Replace elements with an immediate by the next float away from 0; 0 stays 0."""
    values = np.asarray(values, np.float32)
    nudged = np.nextafter(values, np.copysign(np.float32(np.inf), values), dtype=np.float32)
    result: NDArray[np.float32] = np.where(np.isin(np.abs(values), _POWERS), nudged, values)
    return result


def bound(value: float) -> float:
    """Return the constant to write for a bound of a clamp."""
    return float(streamed(np.asarray(value, np.float32))) if value else NEARLY_ZERO


def factor(value: float) -> float:
    """Return the constant to write for a factor."""
    return float(streamed(np.asarray(value, np.float32)))
