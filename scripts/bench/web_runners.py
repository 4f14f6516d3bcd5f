#!/usr/bin/env python3
"""Compare glsl-infer with tfjs in one page of one browser: frame, first result, bytes transferred.

    scripts/bench/web_runners.py [--size 257] [--rounds 3] [--frames 5] [--json]

All run the same X22 with seeded random weights (from scripts/accuracy_keras.py) on the same pixels, with batch norms
folded into convolutions. tfjs runs on its WebGL backend, the baseline of the ratios, and on its WebAssembly backend,
which uses the CPU. It has no grouped convolutions; two replacements are measured, and the faster counts. Needs Node.js
with npm, Chromium ($CHROMIUM, or Debian's chromium-headless-shell), and TensorFlow for the network.

The exit code is 2 for invalid arguments, and 1 for any other failure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/web"))  # the browser, and the server of its pages

import graph_file
import numpy as np
from chromium import Browser, PageError
from web_site import ROOT, Site

from glsl_infer import bundle as bundles
from glsl_infer.bundle import probe
from glsl_infer.compiler.build import Options, build
from glsl_infer.errors import GlslInferError

WEB = ROOT / "web"
SIZES = (257, 385)
"""Image sizes in pixels that fit the five stages of X22."""

WEIGHTS = ("uniform", "auto")
"""Modes of ``glsl-infer export --weights``; tfjs gets the weights of the first export."""

WAYS = ("split", "whole")
"""Ways for tfjs to compute convolutions of several groups."""

BACKENDS = {"webgl": ("webgl.js",), "wasm": ("wasm.js", "tfjs-backend-wasm-simd.wasm")}
"""Backends of tfjs, with the files of web/dist/tfjs that a browser fetches for each."""

PATIENCE = 900.0
"""Timeout in seconds for all frames of one runner."""

COLUMNS = ("frame", "first", "bytes")

MEASURE = """async (runner, argument, size, frames) => {
    const pixels = new ImageData(size, size);
    for (let i = 0; i < pixels.data.length; i++) pixels.data[i] = i % 4 === 3 ? 255 : (i * i + 31 * i) % 251;
    const begun = performance.now();
    let run;
    if (runner === "glsl-infer") {
        const {GlslInfer} = await import("/glsl-infer.js");
        const model = await GlslInfer.load(`/made/models/${argument}.glslnn`);
        run = async () => (await model.run(pixels)).data;
    } else {
        const [backend, way] = argument.split(" ");
        const network = await (await import(`/tfjs/${backend}.js`)).load("/made/tfjs/uniform", way);
        run = async () => (await network(pixels)).data;
    }
    const logits = await run();
    const first = performance.now() - begun;
    const times = [];
    for (let i = 0; i < frames; i++) {
        const start = performance.now();
        await run();
        times.push(performance.now() - start);
    }
    return {first, times, logits: Array.from(logits)};
}"""

START_GPU = """(() => {
    const gl = document.createElement("canvas").getContext("webgl");
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
})()"""
"""JavaScript that starts the browser's GPU process, to exclude that time from every runner's."""


def main() -> int:
    """Create the network, run both engines, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, choices=SIZES, default=257, help="side of the picture (257)")
    parser.add_argument("--rounds", type=int, default=3, help="fresh browsers, in each of which all run once (3)")
    parser.add_argument("--frames", type=int, default=5, help="frames after the first, in each round (5)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    arguments = parser.parse_args()
    if min(arguments.frames, arguments.rounds) < 1:
        parser.error(f"--rounds {arguments.rounds} --frames {arguments.frames}: at least 1 is possible of each")
    try:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder)
            prepare(arguments.size, made)
            results = measure(arguments.size, arguments.rounds, arguments.frames, made)
    except (GlslInferError, PageError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(error.stderr or "", end="", file=sys.stderr)
        print(f"error: {error.cmd[0]} ended with {error.returncode}; its own words are above", file=sys.stderr)
        return 1
    print(json.dumps(results) if arguments.json else table(results))
    return 0


def prepare(size: int, made: Path) -> None:
    """Export the model both ways, build the page with all runners, and convert the first export for tfjs."""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    maker = [sys.executable, str(ROOT / "scripts/accuracy_keras.py"), "x22", str(made), "--size", str(size)]
    subprocess.run(maker, check=True, env=environment, stderr=subprocess.PIPE, text=True)  # TensorFlow prints much
    graph = graph_file.read(made / "x22.graph")
    labels = [str(index) for index in range(graph.shapes[graph.output][0])]
    models = made / "models"
    models.mkdir()
    for weights in WEIGHTS:
        options = Options(weights=weights)
        bundle, _, _ = build(graph, labels, options=options, calibration=[probe.picture(size)])
        bundles.write(bundle, models / f"{weights}.glslnn")
    for folder in (WEB, WEB / "tfjs"):
        if not (folder / "node_modules").is_dir():
            subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
    subprocess.run(["node", "build.mjs"], cwd=WEB, check=True, stdout=subprocess.DEVNULL)
    # Uniform weights are the graph's own, in 32 bits.
    convert = ["node", "tfjs/build.mjs", str(made), f"{WEIGHTS[0]}.glslnn"]
    subprocess.run(convert, cwd=WEB, check=True, stdout=subprocess.DEVNULL)


def measure(size: int, rounds: int, frames: int, made: Path) -> dict[str, Any]:
    """Run all in one page in turn, in reverse order in every second round; return medians."""
    tfjs = [("tfjs", f"{backend} {way}") for backend in BACKENDS for way in WAYS]
    places = [("glsl-infer", weights) for weights in WEIGHTS] + tfjs
    results: dict[str, dict[str, Any]] = {" ".join(place): {"first": [], "frame": []} for place in places}
    with Site({"": WEB / "dist", "made": made}) as site:
        for number in range(rounds):
            with Browser(patience=PATIENCE) as browser:
                page = browser.page(f"{site.address}/blank.html")
                page.evaluate(START_GPU)
                for runner, argument in places[:: -1 if number % 2 else 1]:
                    result = page.evaluate(MEASURE, runner, argument, size, frames)
                    numbers = results[f"{runner} {argument}"]
                    numbers["first"].append(result["first"])
                    numbers["frame"] += result["times"]
                    numbers["logits"] = result["logits"]
    for numbers in results.values():
        numbers |= {key: float(np.median(numbers[key])) for key in ("first", "frame")}
    exact = np.array(results[f"tfjs webgl {WAYS[0]}"]["logits"])
    for name, numbers in results.items():
        difference = np.array(numbers.pop("logits")) - exact
        numbers["logits_differ_by"] = float(np.abs(difference - difference.mean()).max())
        numbers["bytes"] = sum(file.stat().st_size for file in files(name, made))
    faster = min((results[f"tfjs webgl {way}"] for way in WAYS), key=lambda numbers: float(numbers["frame"]))
    for weights in WEIGHTS:
        numbers = results[f"glsl-infer {weights}"]
        numbers["ratios"] = {key: numbers[key] / faster[key] for key in COLUMNS}
    return {
        "size": size,
        "rounds": rounds,
        "frames": frames,
        "spread_of_logits": float(exact.std()),
        "runners": results,
    }


def files(name: str, made: Path) -> list[Path]:
    """Return the files that a browser fetches for one runner."""
    runner, argument = name.split(" ", 1)
    if runner == "glsl-infer":
        return [WEB / "dist/glsl-infer.js", made / "models" / f"{argument}.glslnn"]
    code = [WEB / "dist/tfjs" / file for file in BACKENDS[argument.split()[0]]]
    return [*code, *(made / "tfjs" / WEIGHTS[0] / file for file in ("model.json", "weights.bin"))]


def table(results: dict[str, Any]) -> str:
    """Return the results as a Markdown table, with ratios to the faster tfjs on WebGL in parentheses."""
    lines = ["| runner | frame, ms | first result, ms | kB transferred | logits differ by |", "|---|---|---|---|---|"]
    for name, numbers in results["runners"].items():
        cells = [f"{numbers['frame']:.1f}", f"{numbers['first']:.0f}", f"{numbers['bytes'] / 1000:.0f}"]
        if "ratios" in numbers:
            cells = [f"{cell} ({numbers['ratios'][key]:.2f})" for cell, key in zip(cells, COLUMNS)]
        lines.append(f"| {name} | {' | '.join(cells)} | {numbers['logits_differ_by']:.3f} |")
    lines.append(f"\nThe logits' standard deviation is {results['spread_of_logits']:.3f}.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
