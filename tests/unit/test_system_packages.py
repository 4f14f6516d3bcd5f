"""scripts/system-packages and scripts/debian_root: chosen packages, and commands read from the Raspberry Pi page."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages import ROOT

PROGRAMS = {
    "id": "echo 0",
    "dpkg-query": 'case " $INSTALLED " in *" $4 "*) echo "install ok installed" ;; *) exit 1 ;; esac',
    "apt-cache": 'case " $AVAILABLE " in *" $2 "*) ;; *) exit 100 ;; esac',
    "apt-get": 'echo "$*" >>"$LOG"',
    "npm": "",
    "javac": 'echo "javac $JAVAC"; [ -n "$JAVAC" ]',
}


def installs(folder: Path, option: str, **variables: str) -> list[str]:
    """Return the packages that the script would install, with fakes for apt and dpkg; empty if apt is not called."""
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    (folder / "log").touch()
    environment = {"INSTALLED": "", "AVAILABLE": "", "JAVAC": "", **variables}
    environment |= {"PATH": f"{folder}:{os.environ['PATH']}", "LOG": str(folder / "log")}
    subprocess.run([ROOT / "scripts/system-packages", option], env=environment, check=True, capture_output=True)
    calls = (folder / "log").read_text().splitlines()
    if calls:
        assert calls[0].startswith("update"), "a new machine has no lists of packages"
    return [word for line in calls[1:] for word in line.split() if not word.startswith("-") and word != "install"]


@pytest.mark.parametrize(
    ("available", "installed", "expected"),
    [
        ("chromium-headless-shell chromium", "", {"chromium-headless-shell"}),
        ("chromium", "", {"chromium"}),
        ("chromium-headless-shell chromium", "chromium", set()),
    ],
)
def test_any_chromium(tmp_path: Path, available: str, installed: str, expected: set[str]) -> None:
    packages = installs(tmp_path, "--test", AVAILABLE=available, INSTALLED=installed)
    assert {name for name in packages if "chromium" in name} == expected
    assert {"libegl1", "default-jdk-headless", "xvfb"} <= set(packages)


@pytest.mark.parametrize(("version", "enough"), [("11.0.22", False), ("25", True)])
def test_any_jdk_from_17_on(tmp_path: Path, version: str, enough: bool) -> None:
    packages = installs(tmp_path, "--java", INSTALLED="debian-archive-keyring", JAVAC=version)
    assert packages == ([] if enough else ["default-jdk-headless"])


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
    remaining = lines[len(packages) :]
    assert remaining[:2] == ["cd glsl-infer", "python3 -m venv --system-site-packages .venv"]
    assert ".venv/bin/glsl-infer doctor" in remaining and [line for line in remaining if "/classify " in line]
    assert not [line for line in lines if "ssh" in line or "#" in line]


def test_a_checkout_without_git(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in .ci/run, the copy has no .git. Files that make and the tests left there are skipped."""
    tracked = {"Makefile", ".ci/run", ".github/workflows.yml", "web/src/a.ts", "glsl_infer/data/faces.json"}
    for name in (*tracked, ".venv/bin/python", "web/dist/a.js", "data/one.jpg", "web/node_modules/a/b.js", "build/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(script, "PROJECT", tmp_path)
    assert {name.decode() for name in script.all_files().split(b"\0")} == tracked
