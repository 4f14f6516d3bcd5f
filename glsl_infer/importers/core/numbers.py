"""Decimal forms of 32-bit floats in model files."""

from __future__ import annotations

import numpy as np


def shortest(number: float) -> float:
    """Return the decimal number with the fewest digits for the same 32-bit float: 0.2 instead of 0.200000003."""
    return float(str(np.float32(number)))
