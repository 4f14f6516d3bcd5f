"""ARM instructions of a start and a frame on a Raspberry Pi's CPU, counted under QEMU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from glsl_infer.tools.videocore import first_result

pytestmark = pytest.mark.exhaustive

ROOT = Path(__file__).resolve().parents[2]
BUDGET = json.loads((ROOT / "tests/vc4/arm.json").read_text())


def test_the_budget_has_every_shipped_model() -> None:
    assert sorted(BUDGET) == sorted(path.name for path in (ROOT / "models").glob("*.glslnn"))


def test_the_budget_is_kept() -> None:
    """ARM instructions stay within 2 % of the budget: Debian may update its Python, and hashes of strings vary.

    A single process measures a start with the first model, then the programs and a frame of the others.
    """
    models = [ROOT / "models" / name for name in BUDGET]
    command = [sys.executable, ROOT / "scripts/vc4/arm/count", "--together", *models]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert first_result.counter() is not None, "it is there now"
    counted = json.loads(done.stdout)
    assert list(counted) == list(BUDGET)
    more = [
        f"{name}, {phase}: {counted[name][phase]:,} ARM instructions, {before:,} before"
        for index, (name, budget) in enumerate(BUDGET.items())
        for phase, before in budget.items()
        if (phase != "start to first output" or index == 0) and abs(counted[name][phase] / before - 1) >= 0.02
    ]
    assert more == [], "if that is meant, run scripts/vc4/arm/count --write and commit tests/vc4/arm.json with it"
