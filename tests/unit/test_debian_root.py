"""scripts/debian_root: the commands that it reads from the Raspberry Pi page, and the files of a checkout."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages import ROOT

FOLDER = ROOT / "scripts/debian_root"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("debian_root", FOLDER / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_typed_in_order(script: ModuleType) -> None:
    lines = script.raspberry_pi.page_commands((ROOT / "docs/guide/raspberry-pi.md").read_text("utf-8"))
    packages = [line for line in lines if line.startswith("sudo apt")]
    assert packages[0] == "sudo apt update", "a new board has no lists of packages"
    assert "sudo apt install python3-av" in packages
    others = lines[len(packages) :]
    assert others[:2] == ["cd glsl-infer", "python3 -m venv --system-site-packages .venv"]
    assert ".venv/bin/glsl-infer doctor" in others and [line for line in others if "/classify " in line]
    assert not [line for line in lines if "ssh" in line or "#" in line]


def test_a_checkout_without_git(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in .ci/run, the copy has no .git. Files that make and the tests left there are skipped."""
    ours = {"Makefile", ".ci/run", ".github/workflows.yml", "web/src/a.ts", "glsl_infer/data/faces.json"}
    for name in (*ours, ".venv/bin/python", "web/dist/a.js", "data/one.jpg", "web/node_modules/a/b.js", "build/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(script, "PROJECT", tmp_path)
    assert {name.decode() for name in script.all_files().split(b"\0")} == ours
