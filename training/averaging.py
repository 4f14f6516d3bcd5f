"""Averages of weights over the course of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Weights = list[NDArray[np.float32]]


class MovingAverage:
    """Exponential moving average of weights, taken once an epoch.

    Args:
        decay: per training step, 0 to 1; 0 is no average.
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.weights: Weights = []

    def update(self, weights: Weights, steps: int) -> None:
        """Take in ``weights``, which ``steps`` training steps have changed."""
        if not self.decay:
            return
        keep = self.decay**steps
        if not self.weights:
            self.weights = [np.array(weight) for weight in weights]
        self.weights = [
            np.asarray(keep * old + (1.0 - keep) * new, new.dtype) for old, new in zip(self.weights, weights)
        ]


@dataclass(frozen=True)
class Checkpoint:
    """Weights that were validated."""

    rank: tuple[float, ...]
    epoch: int
    weights: Weights


class BestCheckpoints:
    """The best of the checkpoints seen so far.

    Args:
        count: how many are kept.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.kept: list[Checkpoint] = []

    def add(self, checkpoint: Checkpoint) -> None:
        """Keep ``checkpoint`` if it is among the best; of two equal ones the earlier is better."""
        self.kept = sorted(
            [*self.kept, checkpoint], key=lambda candidate: (candidate.rank, -candidate.epoch), reverse=True
        )[: self.count]

    def average(self) -> Weights:
        """Return the plain average of the weights of those kept."""
        return mean([checkpoint.weights for checkpoint in self.kept])


def mean(candidates: Sequence[Weights]) -> Weights:
    """Return the average of several sets of weights of one network."""
    return [np.mean(same, axis=0, dtype=np.float64).astype(same[0].dtype) for same in zip(*candidates)]
