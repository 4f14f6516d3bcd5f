#!/usr/bin/env python3
"""Estimate a frame of X22 at 385x385 as the article draws it: a texture a slice, a job a draw, weights in uniforms.

    python scripts/vc4/article.py              # what follows from the article's times
    python scripts/vc4/article.py --write      # what is counted: article.json beside board_time.py

The remainder of the article's milliseconds is the kernel's time of a job (``board_time``). The value from one board
predicts the time on the other one, as a test: nothing else is fitted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from x22 import x22

from glsl_infer import bundle as bundles
from glsl_infer.compiler.build import Options, build
from glsl_infer.support.files import write_text
from glsl_infer.tools.videocore import board_time, executor
from glsl_infer.tools.videocore.estimate import BOARDS
from glsl_infer.tools.videocore.simulation import SETS, simulate

ROOT = Path(__file__).resolve().parents[2]

TOGETHER = 25
"""Number of similar jobs averaged into one entry of the file."""


def write() -> None:
    """Build the network, simulate a frame, count its ARM instructions, and write both."""
    options = Options(layout="planar", memory="naive", weights="uniform", weight_bits="16")
    bundle, _, _ = build(x22(385, 120), [f"class {index}" for index in range(120)], options=options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "article.glslnn"
        bundles.write(bundle, path)
        simulation = simulate(path, executor.find())
        counted = subprocess.run([ROOT / "scripts/vc4/arm/count", path], stdout=subprocess.PIPE, text=True, check=True)
    frame = json.loads(counted.stdout)[path.name]
    each = list(zip(*(clocks.of_jobs for clocks in simulation.sets)))
    jobs = []
    for at in range(0, len(each), TOGETHER):
        group = each[at : at + TOGETHER]
        jobs.append([len(group), *(round(sum(clocks) / len(group)) for clocks in zip(*group))])
    data = {
        "about": "python scripts/vc4/article.py --write",
        "draws": simulation.draws,
        "arm_instructions": frame["frame"],
        "sets": list(SETS),
        "jobs": jobs,
    }
    write_text(Path(board_time.__file__).with_name("article.json"), json.dumps(data) + "\n")


def main() -> int:
    """Run the command of the arguments, and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="count anew, and store article.json")
    if parser.parse_args().write:
        write()
    print("board | set | kernel, ms a job | by the other board | off")
    print("|---|---|---|---|---|")
    for board in BOARDS:
        for name in SETS:
            left_out = board_time.left_out(name, board)
            kernel = board_time.kernel_ms(name, board)
            print(f"{board.name} | {name} | {kernel:.2f} | {left_out:.0f} | {left_out / board.article - 1:+.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
