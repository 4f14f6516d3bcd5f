"""Temperatures, clocks and memory, where the system tells them; no name of a user, a host or a folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

_ASKED = {
    "throttled": ("get_throttled",),
    "temperature": ("measure_temp",),
    "clock_v3d": ("measure_clock", "v3d"),
    "clock_arm": ("measure_clock", "arm"),
    "memory_gpu": ("get_mem", "gpu"),
}
"""What a Raspberry Pi's firmware answers to ``vcgencmd``."""

_SECONDS = 5.0


def state() -> dict[str, Any]:
    """Return temperatures in degrees Celsius, CPU clocks in MHz and what the firmware says, as they are now."""
    return {
        "temperatures_c": _temperatures(),
        "cpu_mhz": _clocks(),
        "vcgencmd": _firmware(),
    }


def memory_bytes() -> int | None:
    """Return the machine's memory in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows; a system without that number
        return None


def _temperatures() -> dict[str, float]:
    found: dict[str, float] = {}
    for zone in sorted(Path("/sys/class/thermal").glob("thermal_zone*")):
        kind, value = _text(zone / "type"), _text(zone / "temp")
        if value.lstrip("-").isdigit():
            found[f"{zone.name} {kind}".strip()] = int(value) / 1000.0
    return found


def _clocks() -> list[float]:
    files = sorted(Path("/sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq"))
    return [int(text) / 1000.0 for text in map(_text, files) if text.isdigit()]


def _firmware() -> dict[str, str]:
    command = shutil.which("vcgencmd")
    if command is None:
        return {}
    answers = {}
    for name, words in _ASKED.items():
        try:
            done = subprocess.run([command, *words], capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if not done.returncode:
            answers[name] = done.stdout.strip()
    return answers


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
