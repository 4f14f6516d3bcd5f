"""Averages of weights during a training run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = list[NDArray[np.float32]]


class MovingAverage:
    """Exponential moving average of weights, updated once an epoch.

    Args:
        decay: per training step, 0 to 1; 0 disables the average.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.weights: Weights = []

    def update(self, weights: Weights, steps: int) -> None:
        """Add ``weights`` after ``steps`` training steps."""
        if not self.decay:
            return
        retention = self.decay**steps
        if not self.weights:
            self.weights = [np.array(weight) for weight in weights]
        self.weights = [
            np.asarray(retention * old + (1.0 - retention) * new, new.dtype) for old, new in zip(self.weights, weights)
        ]


@dataclass(frozen=True)
class Checkpoint:
    """Validated weights."""

    rank: tuple[float, ...]
    epoch: int
    weights: Weights


class BestCheckpoints:
    """The best checkpoints so far.

    Args:
        count: number of checkpoints to keep.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.kept: list[Checkpoint] = []

    def add(self, checkpoint: Checkpoint) -> None:
        """Keep ``checkpoint`` if it is among the best; of equal ones the earlier is better."""
        self.kept = sorted(
            [*self.kept, checkpoint], key=lambda candidate: (candidate.rank, -candidate.epoch), reverse=True
        )[: self.count]

    def average(self) -> Weights:
        """Return the mean of the weights of the best checkpoints."""
        return mean([checkpoint.weights for checkpoint in self.kept])


def mean(candidates: Sequence[Weights]) -> Weights:
    """Return the mean of several sets of weights of one network."""
    return [np.mean(arrays, axis=0, dtype=np.float64).astype(arrays[0].dtype) for arrays in zip(*candidates)]
