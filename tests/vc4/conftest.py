"""Mesa's vc4 driver for all tests of this folder; without it they fail and say how to get it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from glsl_infer.errors import InputError
from glsl_infer.tools.videocore import Driver, find
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.executor import find as find_executor

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts/vc4"))  # budget.py


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
