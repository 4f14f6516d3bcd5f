#!/usr/bin/env python3
"""Write docs/engineering/aibench/app.png: the app's AI Benchmark with its real networks, four images each.

PYTHONPATH=. .venv/bin/python tests/android/benchmark_screenshot.py DIR [FILE.png]

DIR has the bundles and images of `glsl-infer aibench --models DIR`. On llvmpipe, export VDSR and DPED into it with
--uniform-vectors 1024, and set GALLIVM_PERF=nopt. Its cache of machine code is too small for one program per slice, so
every image would compile all programs again.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "android")]

import build_apk  # noqa: E402
from app import command_of_app  # noqa: E402
from phone import Phone  # noqa: E402
from PIL import Image  # noqa: E402
from toolchain import Tools  # noqa: E402

ACTIVITY = "glslinfer.app.BenchmarkActivity"
DONE = "AI Benchmark: done"


def main() -> None:
    """Build the app with the networks, run them, and save the screen."""
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs/engineering/aibench/app.png"
    models = [path.with_suffix(".glslnn") for path in sorted(Path(sys.argv[1]).glob("*.png"))]
    with tempfile.TemporaryDirectory() as name:
        folder, tools = Path(name), Tools()
        apk = folder / "demo.apk"
        build_apk.build(tools, [path for path in models if path.exists()], apk, folder / "key" / "debug.keystore")
        phone = Phone(command_of_app(tools, apk, folder, ACTIVITY), apk, folder, screen=(450, 800))
        phone.tell("start", "pictures", 4)
        while DONE not in phone.tell("idle")["texts"]:
            pass
        Image.fromarray(phone.shot()).convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(
            target, optimize=True
        )
        phone.close()
    print(target)


if __name__ == "__main__":
    main()
