"""Every operator on three drivers, each in its own process: a section of scripts/accuracy.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from glsl_infer.errors import RunError

DRIVERS: dict[str, dict[str, str]] = {
    "llvmpipe": {"GALLIUM_DRIVER": "llvmpipe"},
    "llvmpipe as ES 2.0": {"GALLIUM_DRIVER": "llvmpipe", "MESA_GLES_VERSION_OVERRIDE": "2.0"},
    "softpipe": {"GALLIUM_DRIVER": "softpipe"},
}
"""The drivers of ``make test-drivers``, with the environment variables to select each."""

CHILD = Path(__file__).resolve().parents[1] / "accuracy_operators.py"


def measure(cases: int, bound: float) -> dict[str, Any]:
    """Draw ``cases`` random networks of each kind on every driver."""
    results = {}
    for name, chosen in DRIVERS.items():
        environment = {key: value for key, value in os.environ.items() if key != "MESA_GLES_VERSION_OVERRIDE"}
        environment.update(LIBGL_ALWAYS_SOFTWARE="1", **chosen)
        command = [sys.executable, str(CHILD), "--cases", str(cases)]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise RunError(f"{CHILD.name} on {name} ended with {done.returncode}; its message is above")
        results[name] = {**json.loads(done.stdout), "environment": chosen}
    worst = max(row["worst"] for result in results.values() for row in result["operators"].values())
    return {"drivers": results, "worst": worst, "passed": worst <= bound}
