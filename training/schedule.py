"""Learning rates of all steps of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.recipe import Recipe


def learning_rates(recipe: Recipe, steps_per_epoch: int) -> NDArray[np.float32]:
    """Return the learning rate of each step, float32 ``(recipe.epochs * steps_per_epoch,)``.

    It increases linearly during the warm-up, whose last step has the full rate, is constant until the end of the
    plateau, and then decays. Halving: half the rate in the first step after the plateau, and half of it again every
    ``halve_every`` epochs, at least ``final``. Cosine: half a period from the full rate to ``final``, one step after
    the last. A longer warm-up or plateau ends with the run.

    Raises:
        ValueError: ``steps_per_epoch`` is below 1.
    """
    if steps_per_epoch < 1:
        raise ValueError(f"steps_per_epoch={steps_per_epoch}; an epoch has at least 1")
    schedule, total = recipe.schedule, recipe.epochs * steps_per_epoch
    warmup = round(schedule.warmup * steps_per_epoch)
    plateau = schedule.plateau * recipe.epochs if schedule.plateau < 1 else schedule.plateau
    start = max(warmup, round(plateau * steps_per_epoch))

    steps = np.arange(total, dtype=np.float64)
    beyond = np.maximum(steps - start, 0.0)
    if schedule.kind == "halving":
        halvings = np.floor(beyond / (schedule.halve_every * steps_per_epoch)) + 1.0
        share = np.maximum(0.5**halvings, schedule.final)
    else:
        progress = beyond / max(total - start, 1)
        share = schedule.final + (1.0 - schedule.final) * 0.5 * (1.0 + np.cos(np.pi * progress))
    share = np.where(steps < start, 1.0, share)
    rising = np.minimum((steps + 1.0) / max(warmup, 1), 1.0)
    return np.asarray(recipe.optimizer.rate * rising * share, np.float32)
