"""docs/reference/security.md has a test or a campaign for each promise, and all of them exist."""

from __future__ import annotations

import ast
import re

import pytest
from pages import ROOT

PAGE = (ROOT / "docs/reference/security.md").read_text("utf-8")
TABLES = re.findall(r"(?m)^\| promise \| test \|\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)
PROMISES = [line.strip("| ").split(" | ") for table in TABLES for line in table.splitlines()]


def test_all_tables_are_found() -> None:
    assert len(TABLES) == PAGE.count("| promise |") == 6


@pytest.mark.parametrize(("promise", "tests"), PROMISES)
def test_a_promise_has_a_test(promise: str, tests: str) -> None:
    functions: set[str] = set()
    names = re.findall(r"`((?:tests|scripts)/[a-z0-9_/]+\.py|test_\w+)`", tests)
    assert names and len(names) == tests.count("`") // 2
    for name in names:
        if name.endswith(".py"):
            tree = ast.parse((ROOT / name).read_text("utf-8"))
            functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        else:
            assert name in functions, f"{name} is not a test of that file"
