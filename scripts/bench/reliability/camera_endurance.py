#!/usr/bin/env python3
"""Run ``glsl-infer camera --task`` for thousands of frames with figures that enter and leave, and look for growth.

    python scripts/bench/reliability/camera_endurance.py [--task TASK] [--frames 10000] [--samples 100] [--json]

Runs the command's own loop, with ``--snapshot``, ``--on-appear`` and ``--serve``. The film is generated frame by frame:
one or two copies of the picture of ``--person`` cross the frame and come nearer, followed by an empty scene. The
default TASK, from tests/, follows red squares. Samples are those of ``endurance.py``. After a
tenth of the frames nothing must grow, and each visit must be reported once; otherwise the exit code is 1. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "scripts/bench/reliability")]

import endurance  # noqa: E402
import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from PIL import Image  # noqa: E402
from red_squares import folder_of_tasks  # noqa: E402

from glsl_infer import tasks  # noqa: E402
from glsl_infer.cli import camera_tasks, parser_of  # noqa: E402
from glsl_infer.errors import GlslInferError, InputError  # noqa: E402
from glsl_infer.tools.camera.frame import Frame  # noqa: E402
from glsl_infer.tools.camera.sources import CameraSource  # noqa: E402

WIDTH, HEIGHT = 320, 240
THERE, GONE = 60, 40
"""Frames of a visit, and between two visits."""


class Lines(io.TextIOBase):
    """Standard output that counts lines and keeps only events: the points of all frames would fill the memory."""

    def __init__(self) -> None:
        self.count, self.events, self._text = 0, list[str](), ""

    def write(self, text: str) -> int:
        """Append a part of a line."""
        self._text += text
        while "\n" in self._text:
            line, _, self._text = self._text.partition("\n")
            self.count += 1
            event = json.loads(line).get("event")
            self.events += [] if event is None else [event]
        return len(text)


def film(person: Image.Image, frames: int) -> Iterator[Frame]:
    """Yield frames of 320x240 pixels with approaching people, two of them in every second visit.

    The first 40 frames have all sizes, because a crop at another scale can need another program.
    """
    for index in range(frames):
        visit, at = divmod(index, THERE + GONE)
        canvas = Image.new("RGB", (WIDTH, HEIGHT), (40 + visit % 60, 60, 70))
        for figure in range(1 + visit % 2 if at < THERE else 0):
            side = HEIGHT - 40 + at % 41
            x = round((WIDTH - side) * (at / THERE if figure == 0 else 1.0 - at / THERE))
            canvas.paste(person.resize((side, side)), (x, (HEIGHT - side) // 2))
        yield Frame(np.asarray(canvas), index)


def endure(task: str, person: Image.Image, frames: int, samples: int, folder: Path) -> dict[str, Any]:
    """Run the camera; return the samples and the values that grew, as plain data.

    Raises:
        InputError: fewer than 200 frames, or samples that are not 10 to a tenth of them.
    """
    if frames < 200:
        raise InputError(f"--frames {frames}; at least 200 are needed")
    if not 10 <= samples <= frames // 10:
        raise InputError(f"--samples {samples}; give 10 to {frames // 10}")
    rows: list[dict[str, float]] = []
    opened: list[Any] = []
    real = tasks.open_task

    def opening(*args: Any, **options: Any) -> Any:
        opened.append(real(*args, **options))
        return opened[-1]

    def watched() -> Iterator[Frame]:
        for frame in film(person, frames):
            if frame.index >= frames // 10 and frame.index % (frames // samples) == 0:
                rows.append(endurance.sample_of(opened[0].session.context, frame.index))
            yield frame

    words = ["camera", "--task", task, "--json", "--serve", "0", "--snapshot", str(folder), "--on-appear", "true"]
    args = parser_of(("camera",)).parse_args(words)
    tasks.open_task = opening
    started, out = time.perf_counter(), Lines()
    try:
        with contextlib.redirect_stdout(out):
            camera_tasks.run(args, CameraSource("a film", False, watched()), None)
    finally:
        tasks.open_task = real
    grown = endurance.growth(rows)
    flat = grown["rss_bytes"] <= endurance.GROWTH and max(grown[key] for key in grown if key != "rss_bytes") < 1.0
    return {
        "frames": out.count,
        "visits": -(-frames // (THERE + GONE)),
        "appeared": out.events.count("appeared"),
        "left": out.events.count("left"),
        "snapshots": len(list(folder.glob("*.jpg"))),
        "seconds": round(time.perf_counter() - started, 1),
        "grown": grown,
        "flat": flat,
        "samples": rows,
    }


def red_square() -> NDArray[np.uint8]:
    """Return a picture with an object of the task of tests/."""
    return np.full((64, 64, 3), (255, 0, 0), np.uint8)


def main() -> int:
    """Run and print; return the exit code."""
    parser = argparse.ArgumentParser(description="Look for growth while figures enter and leave.")
    parser.add_argument("--task", help="a task of the package, or a file (default: red squares of tests/)")
    parser.add_argument(
        "--person", type=Path, default=ROOT / "glsl_infer/tools/get/person.jpg", help="with --task: an image of one"
    )
    parser.add_argument("--frames", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "shots").mkdir()
            if arguments.task is None:
                (folder / "tasks").mkdir()
                task, person = str(folder_of_tasks(folder / "tasks") / "sides.json"), Image.fromarray(red_square())
            else:
                task, person = arguments.task, Image.open(arguments.person).convert("RGB")
            result = endure(task, person, arguments.frames, arguments.samples, folder / "shots")
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.json:
        print(json.dumps(result))
    else:
        first, last = result["samples"][0], result["samples"][-1]
        print(f"{result['frames']} frames in {result['seconds']} s")
        print(f"  {result['visits']} visits: {result['appeared']} appeared, {result['left']} left")
        endurance.print_growth(first, last)
        print(f"  {'flat' if result['flat'] else 'NOT FLAT'}")
    reported_once = result["visits"] == result["appeared"] == result["left"] == result["snapshots"]
    return 0 if result["flat"] and reported_once else 1


if __name__ == "__main__":
    sys.exit(main())
