"""Python programs in a process with the vc4 driver."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from glsl_infer.tools.videocore import Driver


def lines_of(driver: Driver, program: str, extra: Mapping[str, str] | None = None) -> list[str]:
    """Return the lines of driver and shim on standard error while a Python program runs."""
    environment = {**driver.environment(), **(extra or {})}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()
