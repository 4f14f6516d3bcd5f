"""The nine tests as the paper has them: network, picture, time limit, and a Pixel 2's result."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Test:
    """A test.

    Attributes:
        number: 1 to 9.
        task: what the network is for.
        network: its file's name without suffix, and its name in ``training.aibench.networks``.
        width, height: of the picture, in pixels.
        limit: seconds; None where the paper sets none.
        reference: what a Google Pixel 2 reached (the paper's table 2): milliseconds a picture; megapixels for test 9.
        values: what the bytes 0 and 255 of a picture stand for.
        classes: how many the network tells apart, 0 where it makes something else.
        quick: (width, height) of the picture for a quick run, None where a quick run leaves the test out.
        shown: whether the page and the app run it, with its picture before and after.
    """

    number: int
    task: str
    network: str
    width: int
    height: int
    limit: float | None
    reference: float
    values: tuple[float, float]
    classes: int = 0
    quick: tuple[int, int] | None = None
    shown: bool = False


def _read() -> tuple[Test, ...]:
    """Return the rows of tests.csv, which the page and the app read as well."""
    with Path(__file__).with_name("tests.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_test(row) for row in csv.DictReader(file))


def _test(row: Mapping[str, str]) -> Test:
    return Test(
        number=int(row["number"]),
        task=row["task"],
        network=row["network"],
        width=int(row["width"]),
        height=int(row["height"]),
        limit=float(row["limit"]) if row["limit"] else None,
        reference=float(row["reference"]),
        values=(float(row["low"]), float(row["high"])),
        classes=int(row["classes"] or 0),
        quick=(int(row["quick_width"]), int(row["quick_height"])) if row["quick_width"] else None,
        shown=row["shown"] == "yes",
    )


TESTS = _read()

LARGEST = 9
"""The test that is about memory and not about time."""


def chosen(only: str | None, quick: bool) -> tuple[Test, ...]:
    """Return the tests to run.

    Args:
        only: numbers with commas between, such as "4,8"; None for all.
        quick: leave out what a quick run does not have.

    Raises:
        ValueError: what is wrong with ``only``.
    """
    tests = tuple(test for test in TESTS if test.quick is not None or not quick)
    if only is None:
        return tests
    numbers = [word.strip() for word in only.split(",")]
    known = {str(test.number): test for test in tests}
    if wrong := [word for word in numbers if word not in known]:
        raise ValueError(f"{', '.join(word or 'nothing' for word in wrong)}; choose of {', '.join(known)}")
    return tuple(test for test in tests if str(test.number) in numbers)
