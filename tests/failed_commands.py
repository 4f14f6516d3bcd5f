"""Plugin to add the output of a failed command to the report of its test.

``subprocess.run(..., check=True, capture_output=True)`` raises ``CalledProcessError``, whose text does not have it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from typing import Union

import pytest

_LAST = 8000
"""Largest number of reported characters per stream, counted from its end."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, (subprocess.CalledProcessError, subprocess.TimeoutExpired)):
        for name, printed in (("standard output", error.stdout), ("standard error", error.stderr)):
            if printed:
                report.sections.append((f"{name} of the command", _text(printed)[-_LAST:]))
    return report


def _text(printed: Union[str, bytes]) -> str:
    return printed if isinstance(printed, str) else printed.decode(errors="backslashreplace")
