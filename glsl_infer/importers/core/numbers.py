"""Numbers of files."""

from __future__ import annotations

import numpy as np


def shortest(number: float) -> float:
    """Return the decimal number with the fewest digits that the same 32-bit float stands for: 0.2, not 0.200000003."""
    return float(str(np.float32(number)))
