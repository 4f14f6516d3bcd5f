"""Commands started by the camera: a missing or unexecutable program is reported at the start."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from glsl_infer.tools.camera.presence import Reaction


def test_a_program_that_cannot_be_started_is_reported_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "ring.sh"
    Reaction(shlex.quote(str(script)), None, "--on")
    warning = f"warning: --on {script}: no such file"
    assert capsys.readouterr().err == warning + "\n"
    Reaction(f"{shlex.quote(str(script))} hall", None, "--on")
    assert capsys.readouterr().err.startswith(f"{warning}; a path with spaces needs quotes")
    Reaction("ring.sh", None)
    assert capsys.readouterr().err.startswith("warning: --on-appear ring.sh: no such program; give the path of")
    script.write_text("#!/bin/sh\n")
    Reaction(str(script), None)
    advice = f"make it so: chmod +x {shlex.quote(str(script))}"
    assert capsys.readouterr().err == f"warning: --on-appear {script}: is not executable; {advice}\n"
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    Reaction("ring.sh hall", None)
    assert capsys.readouterr().err.endswith("no such program; for the file in this folder, give ./ring.sh\n")
    Reaction(f"{shlex.quote(sys.executable)} --version", None)
    assert not capsys.readouterr().err


def test_a_command_can_be_longer_than_a_file_name(capsys: pytest.CaptureFixture[str]) -> None:
    Reaction(f"{shlex.quote(sys.executable)} {'x' * 5000}", None)
    assert not capsys.readouterr().err
    Reaction("x" * 5000, None)
    assert "no such program" in capsys.readouterr().err


def test_a_program_with_spaces_in_its_path_is_started(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Quoted with arguments, and without quotes if the path is all of the command."""
    script, ran = tmp_path / "my ring.sh", tmp_path / "ran"
    script.write_text(f'#!/bin/sh\necho "rang $1" >> {shlex.quote(str(ran))}\n')
    script.chmod(0o755)
    for command in (str(script), f"{shlex.quote(str(script))} hall"):
        reaction = Reaction(command, None)
        reaction.appeared(None)
        assert reaction._process is not None
        assert reaction._process.wait(30) == 0
    assert ran.read_text() == "rang \nrang hall\n"
    assert not capfd.readouterr().err
