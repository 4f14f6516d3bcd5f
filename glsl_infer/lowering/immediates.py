"""Numbers that VideoCore IV would rather not have as immediates.

Its instructions hold two operations, one for each ALU. A number comes either from the uniform stream, as weights do
anyway, or as an immediate, and that takes the place of a register of the other operation and of a signal: where an
instruction has one, its compiler seldom finds a second operation that fits. There are immediates for 0 and for the
powers of two from 1/256 to 128; the float next to one is none, and no result of ours can tell the two apart.

A bound of 0 in a clamp costs more: compilers then see a clamp to [0, 1] in it, which this GPU does not have, and make
two operations of that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEARLY_ZERO = 1e-9
"""What stands for 0 as a bound: a four-millionth of a step of 8 bits."""

_POWERS = 2.0 ** np.arange(-8, 8)


def streamed(numbers: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32 numbers of any shape, those with an immediate moved one float away from 0; 0 stays 0."""
    numbers = np.asarray(numbers, np.float32)
    moved = np.nextafter(numbers, np.copysign(np.float32(np.inf), numbers), dtype=np.float32)
    spared: NDArray[np.float32] = np.where(np.isin(np.abs(numbers), _POWERS), moved, numbers)
    return spared


def bound(number: float) -> float:
    """Return a bound of a clamp as a shader should have it."""
    return float(streamed(np.asarray(number, np.float32))) if number else NEARLY_ZERO


def factor(number: float) -> float:
    """Return a factor in a shader's text as it should have it."""
    return float(streamed(np.asarray(number, np.float32)))
