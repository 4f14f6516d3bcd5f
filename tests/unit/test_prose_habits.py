"""scripts/build/lint_prose.py: habits of unclear writing in docstrings and comments."""

from __future__ import annotations

from pathlib import Path

import lint_prose
import pytest


def test_a_habit_in_a_comment_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "module.py").write_text('"""Return the sum."""\nx = 1  # what the file said lies beside it\n')
    assert lint_prose.main([str(tmp_path)]) == 1
    assert "beside, behind" in capsys.readouterr().err


def test_strings_and_directives_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text('"""Return the sum."""\nx = "what somebody said"  # noqa: S101 that that\n')
    assert lint_prose.main([str(tmp_path)]) == 0
