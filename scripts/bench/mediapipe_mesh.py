#!/usr/bin/env python3
"""Compare the face mesh in the browser with MediaPipe's own: frame and first result, in one page of one browser.

    scripts/bench/mediapipe_mesh.py [--rounds 3] [--frames 20] [--json]

Both track the face in one image with the same two networks, detector and mesh: ours from `glsl-infer get face-mesh`,
MediaPipe's from its npm package, fetched by npm as you have configured it. Chromium draws in software. Needs Node.js
with npm, and Chromium ($CHROMIUM, or Debian's chromium-headless-shell).

The exit code is 2 for invalid arguments, and 1 for any other failure.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/web"))  # the browser, and the server of its pages

import numpy as np
from chromium import Browser, PageError
from PIL import Image
from web_site import ROOT, Site

from glsl_infer.tasks import models

PACKAGE = "@mediapipe/face_mesh@0.4.1657299874"
NEEDED = ("face-detection", "face-mesh")
PERSON = ROOT / "glsl_infer/tools/get/person.jpg"
SIZE = (480, 640)
RUNNERS = ("glsl-infer", "MediaPipe")
PATIENCE = 300.0

MEASURE = """async (runner, frames, width, height) => {
    const picture = await createImageBitmap(await (await fetch("/person.png")).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    canvas.getContext("2d").drawImage(picture, 0, 0);
    const begun = performance.now();
    let run;
    if (runner === "glsl-infer") {
        const {openTask} = await import("/glsl-infer-tasks.js");
        const task = await openTask("/tasks/face-mesh.json", {locate: (name) => `/models/${name}.glslnn`});
        run = async () => (await task.follow(picture)).things.map((face) => face.points);
    } else {
        await new Promise((resolve, reject) => {
            const script = document.createElement("script");
            Object.assign(script, {src: "/mediapipe/face_mesh.js", onload: resolve, onerror: reject});
            document.head.append(script);
        });
        const mesh = new FaceMesh({locateFile: (file) => `/mediapipe/${file}`});
        mesh.setOptions({maxNumFaces: 1, refineLandmarks: false});
        let found = [];
        mesh.onResults((results) => { found = results.multiFaceLandmarks ?? []; });
        run = async () => {
            await mesh.send({image: canvas});
            return found.map((face) => face.map(({x, y}) => [x * width, y * height]));
        };
    }
    await run();
    const first = performance.now() - begun;
    const times = [];
    let faces = [];
    for (let i = 0; i < frames; i++) {
        const start = performance.now();
        faces = await run();
        times.push(performance.now() - start);
    }
    return {first, times, faces};
}"""


def main() -> int:
    """Fetch both packages, run both trackers, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="fresh browsers, in each of which both run once (3)")
    parser.add_argument("--frames", type=int, default=20, help="frames after the first, in each round (20)")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    arguments = parser.parse_args()
    if min(arguments.frames, arguments.rounds) < 1:
        parser.error(f"--rounds {arguments.rounds} --frames {arguments.frames}: at least 1 is possible of each")
    missing = [name for name in NEEDED if not (models.folder() / f"{name}.glslnn").is_file()]
    if missing:
        print(f"error: {', '.join(missing)} is not here yet; first: glsl-infer get face-mesh", file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = measure(prepare(Path(folder)), arguments.rounds, arguments.frames)
    except (PageError, OSError, tarfile.TarError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(error.stderr or "", end="", file=sys.stderr)
        print(f"error: {error.cmd[0]} ended with {error.returncode}; its own words are above", file=sys.stderr)
        return 1
    print(json.dumps(results) if arguments.json else table(results))
    return 0


def prepare(folder: Path) -> Path:
    """Build the page, and unpack MediaPipe's package; return its folder."""
    if not (ROOT / "web/node_modules").is_dir():
        subprocess.run(["npm", "ci", "--silent"], cwd=ROOT / "web", check=True)
    subprocess.run(["node", "build.mjs"], cwd=ROOT / "web", check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "package"


def measure(mediapipe: Path, rounds: int, frames: int) -> dict[str, Any]:
    """Run both in one page, in reverse order in every second round; return medians in milliseconds."""
    png = io.BytesIO()
    with Image.open(PERSON) as image:
        image.convert("RGB").resize(SIZE, Image.Resampling.LANCZOS).save(png, "PNG")
    data = ROOT / "glsl_infer/tasks/data"
    one = {**json.loads((data / "face-mesh.json").read_text("utf-8")), "most": 1}
    first: dict[str, list[float]] = {runner: [] for runner in RUNNERS}
    times: dict[str, list[float]] = {runner: [] for runner in RUNNERS}
    points: dict[str, Any] = {}
    with Site({"": ROOT / "web/dist", "mediapipe": mediapipe, "tasks": data, "models": models.folder()}) as site:
        site.files["/person.png"] = png.getvalue()
        site.files["/tasks/face-mesh.json"] = json.dumps(one).encode()
        for index in range(rounds):
            with Browser(patience=PATIENCE) as browser:
                page = browser.page(f"{site.address}/blank.html")
                for runner in RUNNERS[:: -1 if index % 2 else 1]:
                    found = page.evaluate(MEASURE, runner, frames, *SIZE)
                    if len(found["faces"]) != 1:
                        raise PageError(f"{runner} found {len(found['faces'])} faces, where there is one")
                    first[runner].append(found["first"])
                    times[runner] += found["times"]
                    points[runner] = np.array([point[:2] for point in found["faces"][0]])
    ours, theirs = (points[runner][:468] for runner in RUNNERS)
    return {
        "first_ms": {runner: round(median(first[runner])) for runner in RUNNERS},
        "frame_ms": {runner: round(median(times[runner]), 1) for runner in RUNNERS},
        "apart_px": round(float(np.linalg.norm(ours - theirs, axis=1).mean()), 2),
        "face_px": round(float(np.ptp(theirs[:, 0]))),
    }


def table(results: dict[str, Any]) -> str:
    """Return the rows of docs/engineering/tasks.md."""
    rows = [f"| {runner} | {results['frame_ms'][runner]} ms | {results['first_ms'][runner]} ms |" for runner in RUNNERS]
    apart = f"Points are {results['apart_px']} pixels apart in the mean; the face is {results['face_px']} wide."
    return "\n".join(["| | frame, followed | first result |", "|---|---|---|", *rows, "", apart])


if __name__ == "__main__":
    raise SystemExit(main())
