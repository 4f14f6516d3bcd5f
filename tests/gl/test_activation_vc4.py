"""What Mesa's VideoCore IV compiler says of a bundle, where VC4_RUN names a script that runs things on its driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny

from glsl_infer import bundle as bundles

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/activation_vc4.py"

pytestmark = pytest.mark.once


def started(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "VC4_DEBUG": "shaderdb"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_another_driver_is_refused_by_name(tmp_path: Path) -> None:
    done = started([sys.executable, str(SCRIPT), str(tiny.write_tiny(tmp_path))])
    assert done.returncode == 2
    assert done.stderr.startswith("error: the OpenGL driver is '")
    assert "start this through a runner of Mesa's vc4 driver" in done.stderr


@pytest.mark.skipif("VC4_RUN" not in os.environ, reason="VC4_RUN names no way to Mesa's vc4 driver")
@pytest.mark.parametrize("weights", ["uniform", "baked"])
def test_every_program_has_its_count(tmp_path: Path, weights: str) -> None:
    path = tiny.write_tiny(tmp_path, weights=weights)
    done = started([os.environ["VC4_RUN"], sys.executable, str(SCRIPT), str(path)])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sorted(found) == sorted(one.name for one in bundles.read(path).manifest.programs)
    names = ["expand", "unit-pw", "unit-dw"] if weights == "uniform" else ["expand.3", "unit-pw.3", "unit-dw.3"]
    counts = [found[name][0] for name in names]
    assert counts == sorted(counts) and counts[0] > 2 * 4 * 4, "the more is read, the longer"
