"""What a start and a frame cost a Raspberry Pi's CPU: ARM instructions, counted under QEMU."""

from __future__ import annotations

import json
from pathlib import Path

from glsl_infer.tools.videocore import first_result

ROOT = Path(__file__).resolve().parents[2]
BUDGET = json.loads((ROOT / "tests/vc4/arm.json").read_text())
MODEL = ROOT / "models/trashnet-x22-129.glslnn"


def test_the_budget_is_of_the_models_that_there_are() -> None:
    assert sorted(BUDGET) == sorted(path.name for path in (ROOT / "models").glob("*.glslnn"))


def test_the_budget_is_kept() -> None:
    """Within 2 %: Debian may update its Python, and hashes of texts differ from start to start."""
    counted = first_result.counted(MODEL)
    assert first_result.counter() is not None, "it is there now"
    for what, before in BUDGET[MODEL.name].items():
        assert abs(counted[what] / before - 1) < 0.02, (
            f"{what}: {counted[what]:,} ARM instructions, {before:,} before; if that is meant, run "
            "scripts/vc4/arm/count --write and commit tests/vc4/arm.json with it"
        )
