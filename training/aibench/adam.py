"""Training with JAX for a given time: Adam with clipped gradients, and averaged arrays as the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

WARM_UP = 300
"""Steps in which the learning rate rises; it then falls along half a cosine until the time is over."""


@dataclass(frozen=True)
class Settings:
    """Settings of a training.

    Attributes:
        rate: largest learning rate.
        clip: largest norm of a gradient.
        steps: training steps in one call of the GPU.
        decay: share of an array that a step of learning rate 1 removes.
        fixed: indices of arrays that stay as they are.
    """

    rate: float
    clip: float
    steps: int
    decay: float = 0.0
    fixed: Collection[int] = ()


class State(NamedTuple):
    """Arrays, the moving averages of their gradients and of the squares of these, averaged arrays, steps done."""

    arrays: list[Any]
    means: list[Any]
    squares: list[Any]
    averaged: list[Any]
    count: Any


def fit(
    loss: Callable[[list[Any], Any], Any], arrays: list[Any], seconds: float, settings: Settings, label: str
) -> tuple[list[Any], int]:
    """Train for some seconds.

    Args:
        loss: function of the arrays and a random key.
        arrays: the initial arrays.
        seconds: duration of the training.
        settings: of the training.
        label: name of the network in printed lines.

    Returns:
        The averaged arrays, and the number of steps.

    Raises:
        SystemExit: the loss is not finite.
    """
    import jax
    import jax.numpy as jnp

    @jax.jit
    def steps(state: State, keys: Any, rate: Any) -> Any:
        def step(state: State, key: Any) -> tuple[State, Any]:
            value, gradients = jax.value_and_grad(loss)(state.arrays, key)
            return _updated(state, gradients, rate, settings), value

        return jax.lax.scan(step, state, keys)

    zeros = [jnp.zeros_like(array) for array in arrays]
    state = State(arrays, zeros, zeros, arrays, jnp.float32(0.0))
    key = jax.random.key(2018)
    begun, steps_done = time.perf_counter(), 0
    while (progress := (time.perf_counter() - begun) / seconds) < 1.0:
        key, keys_of_call = jax.random.split(key)
        rate = settings.rate * min(1.0, (steps_done + 1) / WARM_UP) * 0.5 * (1.0 + np.cos(np.pi * progress))
        state, values = steps(state, jax.random.split(keys_of_call, settings.steps), rate)
        value = float(values.mean())
        if not np.isfinite(value):
            raise SystemExit(f"{label}: the loss is {value} after {steps_done} steps")
        if steps_done % (20 * settings.steps) == 0:
            print(f"{label} {progress:4.0%} {steps_done} steps, loss {value:.5f}", flush=True)
        steps_done += settings.steps
    return list(state.averaged), steps_done


def _updated(state: State, gradients: list[Any], rate: Any, settings: Settings) -> State:
    """Return the state after one step of Adam (beta 0.9 and 0.99)."""
    import jax.numpy as jnp

    norm = jnp.sqrt(sum((gradient**2).sum() for gradient in gradients))
    gradients = [gradient * jnp.minimum(1.0, settings.clip / (norm + 1e-12)) for gradient in gradients]
    count = state.count + 1
    means = [0.9 * old + 0.1 * gradient for old, gradient in zip(state.means, gradients)]
    squares = [0.99 * old + 0.01 * gradient**2 for old, gradient in zip(state.squares, gradients)]
    mean_correction, square_correction = 1.0 - 0.9**count, 1.0 - 0.99**count
    arrays = [
        old
        if index in settings.fixed
        else old * (1.0 - settings.decay * rate)
        - rate * (mean / mean_correction) / (jnp.sqrt(square / square_correction) + 1e-8)
        for index, (old, mean, square) in enumerate(zip(state.arrays, means, squares))
    ]
    averaged = [0.998 * old + 0.002 * new for old, new in zip(state.averaged, arrays)]
    return State(arrays, means, squares, averaged, count)
