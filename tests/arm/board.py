"""A Raspberry Pi without the board: the wheel next to Debian's packages for ARM, on an emulated CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pages import ROOT
from PIL import Image
from tiny import tiny_picture, write_tiny

SCRIPTS = ROOT / "scripts/arm"


class Arm:
    """The Python of an emulated Raspberry Pi, in which the wheel is installed.

    Attributes:
        system: as for scripts/arm/fetch.
        site: the folder of the wheel and its commands.
        model: a tiny bundle.
        picture: a picture of the size of its input.
    """

    def __init__(self, system: str, folder: Path) -> None:
        """Install the wheel into ``folder``; the system is fetched if it is missing."""
        subprocess.run([str(SCRIPTS / "fetch"), system], check=True, timeout=900)  # says what it does
        self.system = system
        self.site = folder / "site"
        self.model = write_tiny(folder)
        self.picture = folder / "picture.png"
        self.folder = folder
        Image.fromarray(tiny_picture(1)).save(self.picture)
        module("build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
        (wheel,) = folder.glob("*.whl")
        module("pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target", self.site, wheel)

    def python(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run the emulated Python from a folder that has nothing to do with the project."""
        return subprocess.run(
            [str(SCRIPTS / "python"), "--system", self.system, str(self.site), *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "GLSL_INFER_CACHE": "off"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=600,
        )

    def command(self, name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run a command that the wheel installed."""
        return self.python(self.site / "bin" / name, *arguments)


def module(*words: object) -> None:
    """Run a Python module of this machine, and show what it said where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
