"""Decomposed functions and normalisations, recognised by their results.

A SiLU or a layer normalisation can be written in any number of ways. The results are the same in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.activations import activation

Doubles = NDArray[np.float64]
Function = Callable[[Doubles], Doubles]

EXACT, COARSE = 2e-6, 1e-3
"""Largest difference between a subgraph and the recognised function, relative to 1 plus the value:
for constants of 32 bits, and for constants with fewer."""

_WITHOUT_NUMBERS = (
    "relu", "relu(6)", "relu(1)", "silu", "hard_silu", "hard_sigmoid", "sigmoid", "tanh", "gelu", "gelu_tanh",
    "mish", "softplus", "softsign", "log_sigmoid", "selu", "elu(1)", "tanh_shrink", "sparse_plus", "absolute",
    "exponential", "square",
)  # fmt: skip
_WITH_A_NUMBER = (
    "leaky_relu",
    "elu",
    "celu",
    "relu",
    "squareplus",
    "hard_shrink",
    "soft_shrink",
    "at_least",
    "at_most",
)
_WITH_TWO = ("clip", "threshold")
_MOST_NUMBERS = 8
"""Largest number of constants of a subgraph to try as parameters."""

_POINTS = np.concatenate([np.linspace(-12.03, 12.07, 1201), [-60.3, -33.1, -20.7, -15.2, 15.3, 20.2, 31.7, 55.9]])


def activation_like(function: Function, constants: Iterable[float], tolerance: float) -> str | None:
    """Return the text of the activation equal to a function, or None.

    Args:
        function: an elementwise function.
        constants: constants of the function. Its parameters are among them, their negatives and their inverses.
        tolerance: ``EXACT`` or ``COARSE``.
    """
    with np.errstate(all="ignore"):
        values = function(_POINTS)
        if values.shape != _POINTS.shape or not np.isfinite(values).all() or not np.ptp(values):
            return None
        if np.allclose(values, _POINTS):
            return None
        bounds = tolerance * (1.0 + np.abs(values))
        for text in _texts(constants):
            expected = _at_points(text) if text in _WITHOUT_NUMBERS else activation(text)(_POINTS)
            if np.all(np.abs(expected - values) <= bounds):
                return text
    return None


@cache
def _at_points(text: str) -> Doubles:
    return np.asarray(activation(text)(_POINTS), np.float64)


def _texts(constants: Iterable[float]) -> Iterable[str]:
    """Yield the activations to try for a function with these constants, simple ones first."""
    yield from _WITHOUT_NUMBERS
    distinct: list[float] = []
    for number in constants:
        for candidate in (number, -number, 1.0 / number if number else 0.0):
            if math.isfinite(candidate) and candidate not in distinct and len(distinct) < _MOST_NUMBERS:
                distinct.append(candidate)
    for candidate in distinct:
        yield from _valid(f"{name}({candidate!r})" for name in _WITH_A_NUMBER)
    for constant in distinct:
        yield from _valid(f"{name}({constant!r},{other!r})" for other in distinct for name in _WITH_TWO)


def _valid(texts: Iterable[str]) -> Iterable[str]:
    for text in texts:
        try:
            activation(text)
        except ValueError:
            continue
        yield text


@dataclass(frozen=True)
class Norm:
    """A normalisation.

    Attributes:
        kind: ``layer``, ``rms`` or ``unit``, as in ``channel_norm``.
        groups: None for a normalisation over the channels of each pixel; else the number of groups of channels in a
            normalisation over the entire map.
        epsilon, gamma, beta: as in the attributes of nodes.
    """

    kind: str
    groups: int | None
    epsilon: float
    gamma: tuple[float, ...]
    beta: tuple[float, ...]


_OF_LENGTH = 5e-5
"""Tolerance of a division by the length of a vector, to which files add a small constant in many ways."""

_SHOWN = 3
"""Number of test maps from which scales and offsets are derived. Two more maps verify them."""


def norm_like(
    function: Function, shape: Sequence[int], constants: Iterable[float], tolerance: float, *, maps: bool = True
) -> Norm | None:
    """Return the normalisation equal to a function of a map or a vector, or None.

    Args:
        function: from an array of ``shape`` to another of ``shape``.
        shape: (height, width, channels) or (channels,).
        constants: constants of the function. The epsilon is one of them, or 0.
        tolerance: ``EXACT`` or ``COARSE``.
        maps: whether it can be a normalisation over an entire map.
    """
    shape = tuple(shape)
    if shape[-1] < 2 or math.prod(shape) < 4:
        return None
    rng = np.random.default_rng(0)
    level = rng.normal(0.0, 1.0, shape[-1:])
    spreads = (*([1.0] * _SHOWN), 0.05, 0.01)
    samples = [spread * (level + rng.normal(0.0, 1.0, shape)) for spread in spreads]
    with np.errstate(all="ignore"):
        outputs = [function(x) for x in samples]
        if any(y.shape != shape or not np.isfinite(y).all() for y in outputs):
            return None
        epsilons = [0.0, *{float(number) for number in constants if 0.0 < number < 0.1}]
        for epsilon in epsilons[:_MOST_NUMBERS]:
            for kind, groups in _hypotheses(shape, maps):
                plain = [_normalised(x, kind, groups, epsilon) for x in samples]
                scale_and_shift = _fitted(plain, outputs, max(tolerance, _OF_LENGTH) if kind == "unit" else tolerance)
                if scale_and_shift is not None:
                    return Norm(kind, groups, epsilon, *scale_and_shift)
    return None


def _hypotheses(shape: tuple[int, ...], maps: bool) -> Iterable[tuple[str, int | None]]:
    """Yield (kind, groups) of the normalisations to try."""
    yield from (("layer", None), ("rms", None), ("unit", None))
    if maps and len(shape) == 3 and shape[0] * shape[1] > 1:
        yield from (("layer", groups) for groups in range(1, shape[2] + 1) if not shape[2] % groups)


def _normalised(x: Doubles, kind: str, groups: int | None, epsilon: float) -> Doubles:
    """Return a map or vector after a normalisation without scales and offsets; arguments as for ``Norm``."""
    if groups is not None:
        parts = x.reshape(*x.shape[:2], groups, -1)
        axes: tuple[int, ...] = (0, 1, 3)
    else:
        parts, axes = x, (-1,)
    if kind == "layer":
        parts = parts - parts.mean(axes, keepdims=True)
    reduce = np.sum if kind == "unit" else np.mean
    squares = reduce(np.square(parts), axis=axes, keepdims=True)
    normalised: Doubles = (parts / np.sqrt(squares + epsilon)).reshape(x.shape)
    return normalised


def _fitted(
    plain: Sequence[Doubles], outputs: Sequence[Doubles], tolerance: float
) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return (gamma, beta) per channel that map ``plain`` to ``outputs``, or None if they do not fit.

    They are the least squares fit of the first ``_SHOWN`` maps, and must fit all of them.
    """
    channels = plain[0].shape[-1]
    x, y = (np.concatenate([a.reshape(-1, channels) for a in arrays[:_SHOWN]]) for arrays in (plain, outputs))
    centred = x - x.mean(0)
    spread = np.square(centred).sum(0)
    if not np.isfinite(x).all() or (spread <= 1e-12).any():
        return None
    gamma = (centred * y).sum(0) / spread
    beta = y.mean(0) - gamma * x.mean(0)
    for normalised, output in zip(plain, outputs):
        difference = np.abs(gamma * normalised + beta - output)
        if not (difference <= 4.0 * tolerance * (1.0 + np.abs(output))).all():
            return None
    beta = np.where(np.abs(beta) < tolerance, 0.0, beta)
    return _short(gamma.astype(np.float32), tolerance), _short(beta.astype(np.float32), tolerance)


def _short(weights: NDArray[np.floating], tolerance: float) -> tuple[float, ...]:
    """Return one value if all are equal within the tolerance, else all."""
    if np.ptp(weights) <= tolerance * (1.0 + abs(float(weights[0]))):
        mean = float(weights.mean())
        return (round(mean, 6) if abs(mean - round(mean)) < tolerance else mean,)
    return tuple(float(number) for number in weights)
