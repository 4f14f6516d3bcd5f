#!/usr/bin/env python3
"""Write docs/images/android.png: the app's screen, as in the tests, with a photograph in front of the camera.

PYTHONPATH=. .venv/bin/python tests/android/screenshot.py [FILE.png]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "android")]

import build_apk  # noqa: E402
from app import command_of_app  # noqa: E402
from phone import MODEL, Phone, scene  # noqa: E402
from PIL import Image  # noqa: E402
from toolchain import Tools  # noqa: E402

FRAMES = 40
"""Number of frames, enough for the averaged times to forget the first ones."""


def main() -> None:
    """Build the app, show a photograph to its camera and save the screen."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images" / "android.png"
    with tempfile.TemporaryDirectory() as name:
        folder, tools = Path(name), Tools()
        build_apk.build(tools, [MODEL], folder / "demo.apk", folder / "key" / "debug.keystore")
        phone = Phone(
            command_of_app(tools, folder / "demo.apk", folder), folder / "demo.apk", folder, screen=(450, 800)
        )
        phone.start()
        picture = scene("pineapple007.jpg")
        for shift in range(FRAMES):  # small movements, as of a hand
            phone.look(np.roll(picture, shift % 3, axis=1))
        Image.fromarray(phone.shot()).convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(
            target, optimize=True
        )
        phone.close()
    print(target)


if __name__ == "__main__":
    main()
