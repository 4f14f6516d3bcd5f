"""The optimiser of a recipe."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops
from numpy.typing import NDArray

from training.recipe import Recipe
from training.schedule import learning_rates


class Rates(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc]
    """A learning rate for each step, from a table; the last one stays in effect."""

    def __init__(self, rates: NDArray[np.float32] | list[float]) -> None:
        super().__init__()
        self.rates: NDArray[np.float32] = np.asarray(rates, np.float32)

    def __call__(self, step: Any) -> Any:
        """Return the rate of ``step``, counted from 0."""
        last = len(self.rates) - 1
        return ops.take(ops.convert_to_tensor(self.rates), ops.minimum(ops.cast(step, "int32"), last))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"rates": self.rates.tolist()}


def optimizer(recipe: Recipe, steps_per_epoch: int) -> keras.optimizers.Optimizer:
    """Return the recipe's optimiser with its learning rates."""
    chosen = recipe.optimizer
    rates = Rates(learning_rates(recipe, steps_per_epoch))
    options = {"beta_2": chosen.beta_2, "global_clipnorm": chosen.clip_norm or None}
    if chosen.name == "adam":
        return keras.optimizers.Adam(rates, **options)
    adamw = keras.optimizers.AdamW(rates, weight_decay=chosen.weight_decay, **options)
    # Decay of scales and offsets would only be compensated by the next layer.
    adamw.exclude_from_weight_decay(var_names=["bias", "beta", "gamma"])
    return adamw
