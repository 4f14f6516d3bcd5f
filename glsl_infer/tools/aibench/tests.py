"""The nine tests of the paper: network, image size, time limit, and a Pixel 2's result."""

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
        task: the network's task.
        network: its file's name without suffix, and its name in ``training.aibench.networks``.
        width, height: size of the image, in pixels.
        limit: time limit in seconds; None if the paper has none.
        reference: result of a Google Pixel 2 (the paper's table 2): milliseconds an image; megapixels for test 9.
        values: input values of the bytes 0 and 255 of an image.
        classes: number of classes, 0 if the network is not a classifier.
        quick: (width, height) of the image in a quick run, None if a quick run omits the test.
        shown: whether the page and the app run it, with its image before and after.
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
"""The test of memory; its result is in megapixels instead of milliseconds."""


def chosen(only: str | None, quick: bool) -> tuple[Test, ...]:
    """Return the tests to run.

    Args:
        only: numbers separated by commas, such as "4,8"; None for all.
        quick: whether to omit tests without a quick size.

    Raises:
        ValueError: ``only`` has an unknown number.
    """
    tests = tuple(test for test in TESTS if test.quick is not None or not quick)
    if only is None:
        return tests
    names = [word.strip() for word in only.split(",")]
    by_number = {str(test.number): test for test in tests}
    if wrong := [word for word in names if word not in by_number]:
        raise ValueError(f"{', '.join(word or 'nothing' for word in wrong)}; choose of {', '.join(by_number)}")
    return tuple(test for test in tests if str(test.number) in names)
