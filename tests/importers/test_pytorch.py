"""docs/guide/your-network.md: its code runs, and if torch is installed, the drawn result is compared with PyTorch."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/pytorch.py"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed; scripts/pytorch.py takes any Python's")
def test_the_page(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, "--folder", tmp_path], capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "net.onnx: outputs" in done.stdout
