"""Fixtures: Mesa's vc4 drivers for all tests of this folder, which fail with instructions if they are missing.

``driver`` and ``executor`` have the lowest version. A module that tests each version overrides them by ``each_driver``
and ``each_executor``; a test that builds a bundle takes ``drivers`` and builds it once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import needs
import pytest

from glsl_infer.errors import InputError
from glsl_infer.tools.videocore import Driver, find_all
from glsl_infer.tools.videocore.driver import RELEASES
from glsl_infer.tools.videocore.executor import Executor
from glsl_infer.tools.videocore.executor import find as find_executor
from glsl_infer.tools.videocore.pixels import Pixels, compare

ROOT = Path(__file__).resolve().parents[2]

PHOTOGRAPHED = {name: [ROOT / "docs/images/glass128.jpg"] for name in ("trashnet-x22-129", "superres-x2-96")}
"""Images drawn by the small models in addition to the probe."""


NAMED = bool(os.environ.get("VC4_PREFIX") or os.environ.get("VC4_RUN"))
"""True if the developer chose a driver, which is then the only one."""


@pytest.fixture(scope="session")
def drivers() -> tuple[Driver, ...]:
    """A driver of each Mesa version of scripts/vc4/build.sh."""
    try:
        return find_all()
    except InputError as error:
        needs.missing(str(error))


@pytest.fixture(scope="session")
def driver(drivers: tuple[Driver, ...]) -> Driver:
    return drivers[0]


@pytest.fixture(scope="session", params=RELEASES, ids="mesa {}".format)
def each_driver(request: pytest.FixtureRequest, drivers: tuple[Driver, ...]) -> Driver:
    for driver in drivers:
        if driver.mesa == request.param:
            return driver
    if NAMED:
        pytest.skip("VC4_PREFIX names a driver of another version")
    needs.missing(f"no driver of Mesa {request.param}; scripts/vc4/build.sh builds it")


@pytest.fixture(scope="session")
def each_executor(each_driver: Driver) -> Executor:
    """The virtual VideoCore IV with each version of Mesa."""
    return find_executor(each_driver)


@pytest.fixture(scope="session")
def executor(driver: Driver) -> Executor:
    """The virtual VideoCore IV, built if it is missing."""
    return find_executor(driver)


@pytest.fixture(scope="session")
def compared(executor: Executor) -> Callable[[Path], tuple[Pixels, ...]]:
    """A function to draw a shipped model in both rounding modes, once for all tests."""
    return cache(lambda path: compare(path, executor, PHOTOGRAPHED.get(path.stem, ())))
