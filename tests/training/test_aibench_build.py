"""Options of ``training.aibench.build``."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.aibench import build


@pytest.mark.parametrize("size", ["0x300", "300x0", "-3x300", "300", "300xwide"])
def test_a_size_without_two_positive_sides_is_refused(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        build.main([str(tmp_path / "missing"), f"--size={size}"])
    assert caught.value.code == 2
    assert f"{size}; give WIDTHxHEIGHT" in capsys.readouterr().err


def test_unknown_networks_and_folders_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main([str(tmp_path), "unknown", "--size", "32x32"]) == 2
    assert "unknown: no such network" in capsys.readouterr().err
    assert build.main([str(tmp_path / "missing")]) == 2
    assert "missing: no such folder" in capsys.readouterr().err
