"""The report of a failed test includes the output of a failed command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    command = [sys.executable, "-m", "pytest", "-p", "failed_commands", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 1
    crash, hang = done.stdout.split("_ test_hang _")
    assert "standard output of the command" in crash
    assert "the last words" in crash
    assert "Fatal Python error: Aborted" in crash.partition("standard error of the command")[2]
    assert "still here" in hang.partition("standard output of the command")[2]
