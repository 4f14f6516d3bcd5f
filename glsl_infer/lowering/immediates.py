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

_LEAST, _MOST = (int(np.float32(power).view(np.int32)) for power in (2.0**-8, 2.0**7))
_MAGNITUDE = np.int32(0x7FFFFFFF)
"""Bits of a float32 without its sign."""
_FRACTION = np.int32(0x007FFFFF)
"""Bits of a float32's fraction, which is 0 in powers of two."""


def streamed(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Replace elements with an immediate by the next float away from 0; 0 stays 0."""
    result: NDArray[np.float32] = np.array(values, np.float32)
    bits = result.view(np.int32) & _MAGNITUDE
    powers = (bits & _FRACTION == 0) & (bits >= _LEAST) & (bits <= _MOST)
    immediate = result[powers]
    result[powers] = np.nextafter(immediate, np.copysign(np.float32(np.inf), immediate))
    return result


def bound(value: float) -> float:
    """Return the constant to write for a bound of a clamp."""
    return float(streamed(np.asarray(value, np.float32))) if value else NEARLY_ZERO


def factor(value: float) -> float:
    """Return the constant to write for a factor."""
    return float(streamed(np.asarray(value, np.float32)))
