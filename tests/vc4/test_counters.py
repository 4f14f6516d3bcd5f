"""The GPU's counters as on a board: through GL_AMD_performance_monitor, the driver and the kernel's interface."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.program import Quad
from glsl_infer.support.child_process import module_command
from glsl_infer.tools.videocore.executor import Executor

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "models/trashnet-x22-129.glslnn"


def test_the_driver_gives_what_was_executed(executor: Executor, tmp_path: Path) -> None:
    counts = tmp_path / "counts.json"
    done = subprocess.run(
        module_command("glsl_infer.tools.report.counters", MODEL, "surfaceless"),
        env={**executor.environment(counts=counts), "GLSL_INFER_CACHE": "off"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    quads = sum(-(-quad.width // 2) * -(-quad.height // 2) for quad in _quads())
    assert found["FEP-valid-quads"] == found["TLB-quads-written-to-color-buffer"]
    assert quads <= found["FEP-valid-quads"] <= 1.2 * quads  # quads of the target's grid, and both halves of a diagonal
    executed, everything = found["QPU-total-clk-cycles-executing-valid-instr"], json.loads(counts.read_text("utf-8"))
    assert executed % 4 == 0  # clocks of an instruction
    assert 0 < executed < 4 * (everything["fragment_instructions"] + everything["vertex_instructions"])
    assert 0 < found["TMU-total-text-cache-miss"] < found["TMU-total-text-quads-processed"]
    assert found["QPU-total-idle-clk-cycles"] is None  # not counted yet, so the value is missing


def _quads() -> list[Quad]:
    return [quad for entry in bundles.read(MODEL).manifest.passes for quad in entry.quads]
