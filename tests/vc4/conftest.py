"""Mesa's vc4 driver for all tests of this folder; without it they fail and say how to get it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from glsl_infer.errors import InputError
from glsl_infer.tools.videocore import Driver, find
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.executor import find as find_executor
from glsl_infer.tools.videocore.pixels import Pixels, compare

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/vc4"))  # budget.py

PHOTOGRAPHED = {name: [ROOT / "docs/images/glass128.jpg"] for name in ("trashnet-x22-129", "superres-x2-96")}
"""What is drawn of the small models beside the probe."""


@pytest.fixture(scope="session")
def driver() -> Driver:
    try:
        return find()
    except InputError as error:
        pytest.fail(f"tests/vc4 measure on Mesa's vc4 driver (`make test-vc4` builds it): {error}")


@pytest.fixture(scope="session")
def executor(driver: Driver) -> Executor:
    """The virtual VideoCore IV, built where it is not there yet."""
    return find_executor(driver)


@pytest.fixture(scope="session")
def compared(executor: Executor) -> Callable[[Path], tuple[Pixels, ...]]:
    """Draws a shipped model in both roundings, once for all tests."""
    return cache(lambda path: compare(path, executor, PHOTOGRAPHED.get(path.stem, ())))
