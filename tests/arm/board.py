"""An emulated Raspberry Pi: the wheel and Debian's packages for ARM, run on an emulated CPU."""

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
    """Python on an emulated Raspberry Pi, with the wheel installed.

    Attributes:
        system: name of the system, as for scripts/arm/fetch.
        site: folder of the installed wheel and its commands.
        model: path of a tiny bundle.
        picture: path of an image of the model's input size.
    """

    def __init__(self, system: str, folder: Path) -> None:
        """Build the wheel and install it into ``folder``; download the system if it is missing."""
        subprocess.run([str(SCRIPTS / "fetch"), system], check=True, timeout=900)  # prints its progress
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
        """Run the emulated Python in a folder outside the project, without the cache of glsl-infer."""
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
    """Run a Python module on this machine, and show its output if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
