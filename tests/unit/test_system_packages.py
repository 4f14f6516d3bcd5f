"""scripts/system-packages: the choice between alternative packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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
