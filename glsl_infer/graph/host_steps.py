"""What the CPU does with an output after the last pass: a few steps that every runner has.

An output begins as a list of arrays. Each step makes other arrays of them; after the last there is exactly one.
docs/reference/bundle-format.md defines every step.
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
"""Steps whose results are probabilities."""

LEAST_SQUARE = 1e-12
"""What ``l2-normalize`` takes the sum of squares for, where it is smaller."""


@dataclass(frozen=True)
class HostStep:
    """A step by its name. ``columns`` is the length of a row of ``rows``, and 0 in all other steps."""

    step: str
    columns: int = 0


def shape_of(steps: Sequence[HostStep], shapes: Sequence[Shape]) -> Shape:
    """Return the shape of the result.

    Args:
        steps: in order.
        shapes: of the arrays that they begin with.

    Raises:
        ValueError: a step does not fit its arrays, or more than one array is left.
    """
    left = [tuple(shape) for shape in shapes]
    for step in steps:
        left = _shapes_after(step, left)
    if len(left) != 1:
        raise ValueError(f"{len(left)} arrays are left after the last step; add '{CONCATENATE}'")
    return left[0]


def apply(steps: Sequence[HostStep], arrays: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
    """Return the result of all steps, float32. They compute in float64 and round once.

    Raises:
        ValueError: see ``shape_of``.
    """
    shape_of(steps, [array.shape for array in arrays])
    left = [np.asarray(array, np.float64) for array in arrays]
    for step in steps:
        if step.step == CONCATENATE:
            left = [np.concatenate(left)]
        elif step.step == ROWS:
            left = [array.reshape(-1, step.columns) for array in left]
        else:
            left = [_FUNCTIONS[step.step](array) for array in left]
    with np.errstate(over="ignore"):
        return left[0].astype(np.float32)


def softmax(x: Array) -> Array:
    """Return probabilities along the last axis; the largest number is subtracted first."""
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    probabilities: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return probabilities


def sigmoid(x: Array) -> Array:
    """Return 1 / (1 + exp(-x)) of every number."""
    with np.errstate(over="ignore"):  # exp of a large number is infinite, and 1 / infinity is right: 0
        probabilities: Array = 1.0 / (1.0 + np.exp(-x))
    return probabilities


def normalized(x: Array) -> Array:
    """Return vectors along the last axis, divided by their length."""
    result: Array = x / np.sqrt(np.maximum((x * x).sum(axis=-1, keepdims=True), LEAST_SQUARE))
    return result


def _largest(x: Doubles) -> Doubles:
    return np.asarray(x.argmax(axis=-1), np.float64)


_FUNCTIONS: dict[str, Callable[[Doubles], Any]] = {
    SOFTMAX: softmax,
    SIGMOID: sigmoid,
    ARGMAX: _largest,
    NORMALIZE: normalized,
}


def _shapes_after(step: HostStep, shapes: list[Shape]) -> list[Shape]:
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
