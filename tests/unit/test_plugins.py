"""Plugins of the suite: independent tests, samples of combinations, output of failed commands."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command_line import run_python
from independent import shuffled
from pairwise import each, each_of, pairs_of, pairwise

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


AXES = [[1, 2, 3, 4, 5], ["a", "b", "c", "d"], [(1, 1), (2, 1), (2, 3)]]


def test_every_pair_occurs() -> None:
    rows = pairwise(*AXES)
    for a, b in itertools.combinations(range(3), 2):
        assert {(row[a], row[b]) for row in rows} == set(itertools.product(AXES[a], AXES[b]))
    assert 20 <= len(rows) <= 24
    assert len(pairwise([1, 2, 3], "ab")) == 6


@pytest.mark.parametrize("axes", [AXES, [[1, 2, 3, 4], "ab", "xy"], [[1], "ab"]])
def test_every_value_occurs(axes: list[list[object]]) -> None:
    rows = each(*axes)
    assert len(rows) == max(map(len, axes))
    assert all({row[index] for row in rows} == set(axis) for index, axis in enumerate(axes))


@pairs_of(("case", {"one": [1], "two": [2]}), ("first, second", [(1, 1), (2, 4)]), ("other", "ab"))
def test_marks_give_each_name_its_value(case: list[int], first: int, second: int, other: str) -> None:
    assert case in ([1], [2]) and second == first**2 and other in "ab"


def test_names_of_rows() -> None:
    (mark,) = (each_of(("case", {"one": [1], "two": [2]}), ("first, second", [(1, 1), (2, 4)])).mark,)
    assert [(row.id, row.values) for row in mark.args[1]] == [("one-1-1", ([1], 1, 1)), ("two-2-4", ([2], 2, 4))]


TESTS = Path(__file__).parents[1]

A_TEST = """
import subprocess, sys

def test_crash():
    code = "import os, sys; print('the last words'); sys.stdout.flush(); os.abort()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)

def test_hang():
    raise subprocess.TimeoutExpired([sys.executable], 10.0, output=b"still here")  # as run(timeout=10.0) does
"""


@pytest.mark.slow
def test_output_of_a_failed_command_is_in_the_report(tmp_path: Path) -> None:
    """For a crash, the report has the Python stack, too: tests/conftest.py enables that."""
    (tmp_path / "test_it.py").write_text(A_TEST)
    options = ["-m", "pytest", "-p", "failed_commands", "-p", "no:cacheprovider"]
    done = run_python(*options, tmp_path, folder=tmp_path, PYTHONPATH=str(TESTS), PYTEST_ADDOPTS="")
    assert done.returncode == 1
    crash, hang = done.stdout.split("_ test_hang _")
    assert "standard output of the command" in crash
    assert "the last words" in crash
    assert "Fatal Python error: Aborted" in crash.partition("standard error of the command")[2]
    assert "still here" in hang.partition("standard output of the command")[2]
