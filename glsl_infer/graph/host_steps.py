"""Host steps: operations of the CPU on an output, after the last pass.

A step maps a list of arrays to a list of arrays, and the last list has one array. All runners implement the same steps;
docs/reference/bundle-format.md defines them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array, Shape

Doubles = NDArray[np.float64]

ROWS, CONCATENATE, SOFTMAX, SIGMOID, ARGMAX, NORMALIZE = HOST_STEPS = (
    "rows",
    "concatenate",
    "softmax",
    "sigmoid",
    "argmax",
    "l2-normalize",
)
"""Names of all steps."""

PROBABLE = (SOFTMAX, SIGMOID)
"""Steps with probabilities as results."""

LEAST_SQUARE = 1e-12
"""Lower limit of the sum of squares in ``l2-normalize``, to avoid a division by 0."""


@dataclass(frozen=True)
class HostStep:
    """A step by its name. ``columns`` is the row length of ``rows``, and 0 for all other steps."""

    step: str
    columns: int = 0


def shape_of(steps: Sequence[HostStep], shapes: Sequence[Shape]) -> Shape:
    """Return the shape of the result.

    Args:
        steps: in order.
        shapes: of the arrays read by the first step.

    Raises:
        ValueError: a step does not accept its arrays, or several arrays are left after the last step.
    """
    arrays_left = [tuple(shape) for shape in shapes]
    for step in steps:
        arrays_left = _shapes_after(step, arrays_left)
    if len(arrays_left) != 1:
        raise ValueError(f"{len(arrays_left)} arrays are left after the last step; add '{CONCATENATE}'")
    return arrays_left[0]


def apply(steps: Sequence[HostStep], arrays: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Apply all steps to arrays of any type; compute in float64, and round once to float32.

    Raises:
        ValueError: as for ``shape_of``.
    """
    shape_of(steps, [array.shape for array in arrays])
    arrays_left = [np.asarray(array, np.float64) for array in arrays]
    for step in steps:
        if step.step == CONCATENATE:
            arrays_left = [np.concatenate(arrays_left)]
        elif step.step == ROWS:
            arrays_left = [array.reshape(-1, step.columns) for array in arrays_left]
        else:
            arrays_left = [_FUNCTIONS[step.step](array) for array in arrays_left]
    with np.errstate(over="ignore"):
        return arrays_left[0].astype(np.float32)


def softmax(x: Array) -> Array:
    """Return exp(x) / sum(exp(x)) along the last axis; the maximum is subtracted first, against overflow."""
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)), elementwise."""
    with np.errstate(over="ignore"):  # exp can overflow to infinity; 1 / infinity is 0, the correct limit
        probabilities: Array = 1.0 / (1.0 + np.exp(-x))
    return probabilities


def normalized(x: Array) -> Array:
    """Return the vectors along the last axis divided by their Euclidean length."""
    result: Array = x / np.sqrt(np.maximum((x * x).sum(axis=-1, keepdims=True), LEAST_SQUARE))
    return result


def _argmax(x: Doubles) -> Doubles:
    return np.asarray(x.argmax(axis=-1), np.float64)


_FUNCTIONS: dict[str, Callable[[Doubles], Any]] = {
    SOFTMAX: softmax,
    SIGMOID: sigmoid,
    ARGMAX: _argmax,
    NORMALIZE: normalized,
}


def _shapes_after(step: HostStep, shapes: list[Shape]) -> list[Shape]:
    """Return the shapes of arrays after a step.

    Raises:
        ValueError: the step is unknown, or does not fit the shapes.
    """
    if step.step not in HOST_STEPS:
        raise ValueError(f"no step is called '{step.step:.40}'; there are: {', '.join(HOST_STEPS)}")
    if step.step == ROWS:
        return [_rows(shape, step.columns) for shape in shapes]
    if step.step == SIGMOID:
        return shapes
    if not all(shapes):
        raise ValueError(f"step '{step.step}' needs an array, and gets a single number")
    if step.step == CONCATENATE:
        if len({shape[1:] for shape in shapes}) != 1:
            raise ValueError(f"step '{CONCATENATE}' joins arrays that differ in the first axis only, not {shapes}")
        return [(sum(shape[0] for shape in shapes), *shapes[0][1:])]
    return [shape[:-1] for shape in shapes] if step.step == ARGMAX else shapes


def _rows(shape: Shape, columns: int) -> Shape:
    size = math.prod(shape)
    if columns < 1 or size % columns:
        raise ValueError(f"step '{ROWS}' cannot cut {size} numbers into rows of {columns}")
    return size // columns, columns
