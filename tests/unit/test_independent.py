"""Tests do not depend on earlier tests or on their order."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from independent import shuffled

RNG = np.random.default_rng(3)
FIRST = np.random.default_rng(3).random()


@pytest.mark.parametrize("repetition", range(2))
def test_each_test_begins_with_the_module_s_generator_as_it_was(repetition: int) -> None:
    assert RNG.random() == FIRST


def test_a_random_order_keeps_files_together_and_follows_its_seed() -> None:
    items: list[Any] = [SimpleNamespace(path=Path(f"{file}.py"), number=n) for file in range(5) for n in range(5)]
    orders = [shuffled(items, seed) for seed in (1, 1, 2)]
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    for order in orders:
        assert order != items
        assert sorted(order, key=items.index) == items
        assert [item.path for item in order[::5] for _ in range(5)] == [item.path for item in order]
