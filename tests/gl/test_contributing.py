"""The module and shader of CONTRIBUTING.md, "Add an operator in one file", draw the values of its test."""

from __future__ import annotations

import sys
from pathlib import Path

from contributing import DIFFS, FILES, TESTS, followed, passes, run


def test_it_is_complete() -> None:
    assert [Path(name).suffix for name in FILES] == [".py", ".frag", ".py", ".py"]
    assert set(TESTS) <= set(FILES)
    assert len(DIFFS) == 1


def test_the_operator_works(tmp_path: Path) -> None:
    copy = followed(tmp_path / "copy")
    run(copy, sys.executable, "-m", "ruff", "check", "--no-cache", *python(copy))
    run(copy, sys.executable, "-m", "ruff", "format", "--check", "--no-cache", *python(copy))
    passes(copy, "tests/gl/test_reflection_padding.py")


def python(folder: Path) -> list[str]:
    return [str(folder / name) for name in FILES if name.endswith(".py")]
