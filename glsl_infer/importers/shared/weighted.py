"""Multiplication of the rows or the columns of a map by a matrix -> the operator ``resample``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.ops.resample import MOST_TAPS, rounded


def weighted_sums(
    matrix: NDArray[np.float64], offset: NDArray[np.float64], axis: int
) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]] | None:
    """Return the attributes and the weights of ``resample``; None if an output depends on too many inputs.

    Args:
        matrix: (outputs, inputs).
        offset: added to each output, (outputs,).
        axis: 0 for rows, 1 for columns.
    """
    given = matrix.shape[1]
    used = matrix != 0.0
    begins = np.where(used.any(axis=1), used.argmax(axis=1), 0)
    ends = np.where(used.any(axis=1), given - used[:, ::-1].argmax(axis=1), 1)
    taps = int((ends - begins).max())
    if taps > MOST_TAPS:
        return None
    first = np.minimum(begins, given - taps)
    kernel = np.take_along_axis(matrix, first[:, None] + np.arange(taps), axis=1).T
    attrs, weights = rounded(kernel, offset)
    return {"axis": axis, "first": tuple(int(place) for place in first), **attrs}, weights
