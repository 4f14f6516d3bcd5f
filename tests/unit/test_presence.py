"""Commands that the camera starts: a program that is missing or not executable is reported at the start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from glsl_infer.tools.camera.presence import Reaction


def test_a_program_that_cannot_be_started_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "ring.sh"
    Reaction(f"{script} hall", None, "--on")
    assert capsys.readouterr().err == (
        f"warning: --on: {script} is not an executable program; give the path of a program, such as ./ring.sh\n"
    )
    script.write_text("#!/bin/sh\n")
    Reaction(str(script), None)
    advice = f"chmod +x {script}"
    assert capsys.readouterr().err == f"warning: --on-appear: {script} is not an executable program; {advice}\n"
    Reaction(f"{sys.executable} --version", None)
    assert not capsys.readouterr().err
