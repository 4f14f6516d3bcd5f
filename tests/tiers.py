"""Tiers of the suite, as a pytest plugin: ``--tier quick``, ``test``, ``all`` or ``rest``; plain pytest runs ``all``.

``quick`` is part of ``test``, and ``test`` of ``all``. ``rest`` is ``all`` without ``test``, to follow such a run.
Markers put a test into a tier:

- ``slow``: not in ``quick``.
- ``exhaustive``: in ``all`` only.
- ``sampled(N)``: ``test`` runs about one in N of a parametrised test's cases, and at least one; ``all`` runs each.
- ``drivers``: the test also runs on softpipe and the virtual GPU, for which ``--drivers`` excludes all others.
  ``drivers("all")`` does so in the tier ``all`` only.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable

import pytest

TIERS = ("quick", "test", "all", "rest")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, default="all", help="tests to run: see tests/tiers.py (default: all)")
    parser.addoption("--drivers", action="store_true", help="only tests that run on every driver")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; make quick leaves it out")
    config.addinivalue_line("markers", "exhaustive: make test-all runs it, make test does not")
    config.addinivalue_line("markers", "sampled(n): make test runs one in n of its cases, make test-all runs each")
    config.addinivalue_line("markers", "drivers(tier='test'): runs on softpipe and the virtual GPU, too")


@pytest.hookimpl(trylast=True)  # after the hooks that add markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier, drivers = config.getoption("--tier"), config.getoption("--drivers")
    sample = _sample(items)
    selected, deselected = [], []
    for item in items:
        lowest = _lowest_tier(item, item in sample, drivers)
        (selected if _runs(lowest, tier) else deselected).append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected


def _runs(lowest: str | None, tier: str) -> bool:
    """Return whether a run of ``tier`` includes a test whose lowest tier is ``lowest``; None is in no tier."""
    if lowest is None:
        return False
    if tier == "rest":
        return lowest == "all"
    return TIERS.index(lowest) <= TIERS.index(tier)


def _lowest_tier(item: pytest.Item, sampled: bool, drivers: bool) -> str | None:
    if drivers:
        marker = item.get_closest_marker("drivers")
        if marker is None:
            return None
        if marker.args == ("all",):
            return "all"
    if item.get_closest_marker("exhaustive") or not sampled:
        return "all"
    return "test" if item.get_closest_marker("slow") else "quick"


def _sample(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return the tests kept by ``sampled`` in the tier ``test``: the same ones in any order."""
    chosen, cases = set(), defaultdict(list)
    for item in items:
        marker = item.get_closest_marker("sampled")
        if marker is None:
            chosen.add(item)
        else:
            cases[item.nodeid.partition("[")[0]].append((zlib.crc32(item.nodeid.encode()), marker.args[0], item))
    for group in cases.values():
        least = min(checksum for checksum, _, _ in group)  # at least one case of each function
        chosen |= {item for checksum, n, item in group if checksum % n == 0 or checksum == least}
    return chosen
