"""Running commands in tests."""

from __future__ import annotations

import pytest

from glsl_infer.cli import main

Capture = pytest.CaptureFixture[str]


def refused(capsys: Capture, argv: list[object], code: int = 2) -> str:
    """Run a command that cannot work, and return its message: one line, nothing on standard output."""
    assert main([str(word) for word in argv]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert output.err.count("\n") == 1
    assert output.err.endswith("\n")
    return output.err
