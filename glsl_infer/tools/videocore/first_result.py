"""CPU work of a start on a Pi up to the first result, counted on an emulated CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from glsl_infer.errors import RunError

BOARD_MB, SYSTEM_MB = 512, 160
"""Memory of a Pi Zero; memory used by firmware and Linux."""

_SCRIPT = Path(__file__).resolve().parents[3] / "scripts/vc4/arm/count"


def counter() -> Path | None:
    """Return the script that counts ARM instructions; None outside a checkout or before its emulator is fetched."""
    if not _SCRIPT.is_file():
        return None
    done = subprocess.run([sys.executable, _SCRIPT, "--ready"], capture_output=True, text=True, check=False)
    return _SCRIPT if done.returncode == 0 else None


def counted(model: Path, script: Path = _SCRIPT) -> Mapping[str, int]:
    """Return the ARM instructions of a later start, by stage, and of a frame; takes half a minute.

    Raises:
        RunError: the emulated start fails.
    """
    done = subprocess.run([sys.executable, script, model.resolve()], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunError(f"{model}: its start cannot be counted: {done.stderr.strip()[-500:]}")
    stages: Mapping[str, int] = json.loads(done.stdout)[model.name]
    return stages
