"""Expected texts in files: a pytest plugin with the option ``--update`` and the fixture ``snapshot``.

def test_messages(snapshot: Snapshot) -> None:
    snapshot("refusals.txt", text)    # compares with the file next to the test, or writes it with --update
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

import pytest

Snapshot = Callable[[str, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="write the texts that tests compare with (tests/snapshots.py)"
    )


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Return a function that compares a text with the named file next to the test."""

    def compare(name: str, text: str) -> None:
        path = request.path.with_name(name)
        if request.config.getoption("--update"):
            path.write_text(text, "utf-8")
        stored = path.read_text("utf-8") if path.is_file() else ""
        if stored != text:
            lines = difflib.unified_diff(stored.splitlines(), text.splitlines(), name, "now", lineterm="", n=1)
            pytest.fail("\n".join([*lines, f"if that is meant: pytest {request.path.name} --update"]), pytrace=False)

    return compare
