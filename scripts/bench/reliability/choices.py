"""Draw the choices of mutations from a seed, because Hypothesis would take more time than the readers."""

from __future__ import annotations

import random
from typing import Any


class Draw:
    """Draws from the strategies that ``mutations`` and ``glsl_mutations`` use.

    Args:
        seed: any value; equal seeds give equal choices.
    """

    def __init__(self, seed: object) -> None:
        self.random = random.Random(str(seed))

    def __call__(self, strategy: Any) -> Any:
        """Return a choice of a strategy."""
        strategy = getattr(strategy, "wrapped_strategy", strategy)
        if hasattr(strategy, "elements"):
            return self.random.choice(strategy.elements)
        if hasattr(strategy, "start"):
            return self.random.randint(strategy.start, strategy.end)
        if hasattr(strategy, "min_size"):
            count = self.random.randint(strategy.min_size, int(min(strategy.max_size, 64)))
            if hasattr(strategy, "element_strategy"):
                return [self(strategy.element_strategy) for _ in range(count)]
            return self.random.randbytes(count)
        return self.random.random() < 0.5
