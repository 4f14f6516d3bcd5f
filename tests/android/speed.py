#!/usr/bin/env python3
"""Time the Java runner against the Python runner, in turns on the same driver; print a table, or data with --json.

    PYTHONPATH=. .venv/bin/python tests/android/speed.py [--json] [MODEL.glslnn ...]

A frame is the upload of an image, all draws, and the read-back of the result. The result is the smallest median of all
turns: on a machine with other load, the smallest is the closest to the program's own time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "android")]

from jvm import Jvm  # noqa: E402
from toolchain import ANDROID, Tools  # noqa: E402
from tqdm import tqdm  # noqa: E402

import glsl_infer  # noqa: E402
from glsl_infer.bundle import probe  # noqa: E402

TURNS, FRAMES, WARM_UP = 4, 60, 20


def python_milliseconds(session: glsl_infer.Session) -> float:
    """Return the median time of FRAMES frames, in milliseconds."""
    pixels = probe.picture(session.bundle.manifest.input.size)
    times = []
    for _ in range(WARM_UP + FRAMES):
        start = time.perf_counter()
        session.run(pixels)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[WARM_UP:])


def measure(runner: Jvm, model: Path) -> dict[str, Any]:
    """Return the measurements of one model by both runners."""
    with glsl_infer.Session(model) as session:
        facts = session.statistics()
        python, java = [], []
        for _ in range(TURNS):
            python.append(python_milliseconds(session))
            frames = runner.json("time", model, WARM_UP + FRAMES)["milliseconds"]
            java.append(statistics.median(frames[WARM_UP:]))
    return {
        "model": model.stem,
        "draws": facts.passes,
        "jobs": facts.jobs,
        "gl_calls": facts.gl_calls,
        "java_ms": round(min(java), 2),
        "python_ms": round(min(python), 2),
    }


def main() -> None:
    """Measure the models and print the results."""
    parser = argparse.ArgumentParser(description="Time the Java runner against the Python runner.")
    parser.add_argument("models", nargs="*", type=Path, default=sorted((ROOT / "models").glob("*.glslnn")))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    tools = Tools()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [ANDROID / part / "src" / "main" / "java" for part in ("runner", "desktop")]
        tools.javac(sources, folder, classpath=[tools.jna], android=False)
        runner = Jvm(tools.java([folder], "glslinfer.desktop.Main"))
        rows = [measure(runner, model) for model in tqdm(arguments.models, disable=None)]
    if arguments.json:
        print(json.dumps(rows))
        return
    print("| model | draws | jobs | GL calls | ms, Java | ms, Python |\n| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")


if __name__ == "__main__":
    main()
