"""A pytest plugin that makes tests independent of each other, and checks it with random orders.

Each test begins with the random generators that its module had after import. A test with Keras also begins with Keras'
name counters and random seed of a new process. ``pytest --random-order SEED`` shuffles the test files, then the tests
of each file; the seed is in the header of the run.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest

GENERATORS: dict[int, dict[str, Any]] = {}
"""State of each module-level generator after import, by ``id``."""

KERAS_FOLDERS = {"keras", "training"}
"""Folders of tests for a process with TensorFlow."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--random-order", metavar="SEED", type=int, help="shuffle test files, and the tests of each")


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.getoption("--random-order")
    return [] if seed is None else [f"random order: --random-order {seed}"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed = config.getoption("--random-order")
    if seed is not None:
        items[:] = shuffled(items, seed)


def shuffled(items: list[pytest.Item], seed: int) -> list[pytest.Item]:
    """Return tests with their files in a random order; those of one file stay together and share its fixtures."""
    draw = random.Random(seed)
    files: dict[object, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return [item for tests in draw.sample([*files.values()], len(files)) for item in draw.sample(tests, len(tests))]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Restore the state before fixtures of any scope are set up, since they draw from it as well."""
    for value in vars(getattr(item, "module", item)).values():
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = GENERATORS.setdefault(id(value), value.bit_generator.state)
    if "keras" in sys.modules and KERAS_FOLDERS & {*item.path.parts}:
        import keras

        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(1)
