#!/usr/bin/env python3
"""Time the engine, its two plainest forms and its alternatives in one run.

    python scripts/bench/side_by_side.py                       # X22 at 385x385, random weights: about 3 minutes
    python scripts/bench/side_by_side.py --network mobilenet   # MobileNet v1 0.25 at 128x128, random weights
    python scripts/bench/side_by_side.py --keras models/trashnet-x22-129.keras --json
    python scripts/bench/side_by_side.py --folder F --prepare  # only what takes TensorFlow, into F
    python scripts/bench/side_by_side.py --folder F --only planned,literal     # on a machine without it

    planned         as ``glsl-infer export`` makes it by default
    fetched         as ``glsl-infer export --weights texture`` makes it: a first result sooner
    article-style   a texture for each slice; weights in uniforms, but baked into the programs of the layer that reads
                    the image; all state set before each draw (everything_bound.py), as in the article's code
    all-uniform     the same with that layer's weights in uniforms too; only with --only
    literal         a texture for each slice, weights baked into a program for each slice; llvmpipe caches fewer
                    programs and compiles all again in each frame, which takes minutes; only with --only
    litert-1, -2    LiteRT (ai-edge-litert, XNNPACK) on 1 and 2 threads of the CPU, float32
    tensorflow      Keras on TensorFlow, one compiled function, 2 threads

Each contender is started a few times in turn, in its own process, to time its first result. The last processes keep
running. In every round, each of them runs a few frames of the same image in turn, A B C A B C. Its times are divided by
article-style's times of the same round, and its start times likewise. Compiled programs are not cached, neither by the
engine nor by the driver. LiteRT is installed into the folder if necessary. If a CPU emulates the GPU (llvmpipe), LiteRT
is faster, because it was made for CPUs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from side_by_side_table import difference, spread, summary, table

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from glsl_infer import bundle
from glsl_infer.cli.progress import bar
from glsl_infer.errors import GlslInferError, InputError, RunError
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.support.child_process import module_command

HERE = Path(__file__).resolve().parent
PHOTOGRAPH = HERE.parents[1] / "docs/images/example.jpg"
BASE = "article-style"
UNIFORM = "all-uniform"
UNCACHED = {"MESA_SHADER_CACHE_DISABLE": "true", "__GL_SHADER_DISK_CACHE": "0", "KERAS_BACKEND": "tensorflow"}
MOST_OFF = 2.0
"""Largest allowed difference of logits; the engine's come from 8-bit feature maps."""
SIZES = {"x22": 385, "mobilenet": 128}
"""Networks available without --keras, with the size of their images in pixels."""


@dataclass(frozen=True)
class Contender:
    """A contender of the comparison.

    Attributes:
        runner: a runner of side_by_side_worker.py.
        file: the model.
        export: options of ``glsl-infer export`` for that file.
        picture: ``--weights-for`` the layers that read the image, if it differs from the other layers'.
        threads: number of CPU threads.
    """

    runner: str
    file: str
    export: tuple[str, ...] = ()
    picture: str = ""
    threads: int = 2


PLANAR = ("--layout", "planar", "--memory", "naive")
CONTENDERS = {
    "planned": Contender("engine", "planned.glslnn"),
    "fetched": Contender("engine", "fetched.glslnn", ("--weights", "texture")),
    BASE: Contender("everything-bound", "article-style.glslnn", (*PLANAR, "--weights", "uniform"), "baked"),
    UNIFORM: Contender("everything-bound", "all-uniform.glslnn", (*PLANAR, "--weights", "uniform")),
    "literal": Contender("plain", "literal.glslnn", (*PLANAR, "--weights", "baked")),
    "litert-1": Contender("litert", "model.tflite", threads=1),
    "litert-2": Contender("litert", "model.tflite"),
    "tensorflow": Contender("tensorflow", "model.keras"),
}


def run(command: Sequence[str], what: str) -> None:
    """Run a command to its end.

    Raises:
        RunError: it failed.
    """
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).rsplit("\n", 1)[-1]
        raise RunError(f"{what} failed: {last}")


def prepare(folder: Path, names: Sequence[str], keras: Path | None, size: int, network: str = "x22") -> None:
    """Create the missing files.

    Raises:
        RunError: a step failed.
    """
    model = folder / "model.keras"
    missing = any(not (folder / CONTENDERS[name].file).exists() for name in [UNIFORM, *names])
    if missing and not (model.exists() and model.with_suffix(".tflite").exists()):
        given = ["--keras", str(keras)] if keras else ["--network", network, "--size", str(size)]
        run([sys.executable, str(HERE / "keras_models.py"), str(folder), *given], "making the models by Keras")
    for name in dict.fromkeys([UNIFORM, *names]):  # the first bundle shows which layers read the image
        contender = CONTENDERS[name]
        if contender.file.endswith(".glslnn") and not (folder / contender.file).exists():
            labels = _labels(folder, keras)
            layers = _picture_layers(folder / CONTENDERS[UNIFORM].file) if contender.picture else []
            command = module_command("glsl_infer", "export", model, "-o", folder / contender.file)
            command += ["--labels", str(labels), *contender.export]
            run(
                [*command, *(f"--weights-for={layer}={contender.picture}" for layer in layers)],
                f"exporting {contender.file}",
            )
    there = importlib.util.find_spec("ai_edge_litert") or (folder / "site/ai_edge_litert").exists()
    if any(CONTENDERS[name].runner == "litert" for name in names) and not there:
        # In its own folder and without dependencies, to leave the packages of TensorFlow as they are.
        command = module_command("pip", "install", "--quiet", "--no-deps", "--target", folder / "site")
        run([*command, "ai-edge-litert"], "installing LiteRT")


def _picture_layers(path: Path) -> list[str]:
    """Return the names of the convolutions that read the image."""
    picture, *layers = bundle.read(path).network.layers
    return [layer.name for layer in layers if picture.name in layer.inputs and layer.op == "conv2d"]


def _labels(folder: Path, keras: Path | None) -> Path:
    beside = keras.with_suffix(".glslnn") if keras else None
    lines = bundle.read(beside).labels if beside and beside.exists() else [f"class {index}" for index in range(120)]
    labels = folder / "labels.txt"
    labels.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return labels


class Process:
    """A contender's process.

    Attributes:
        first: its report after the start: ``ready``, ``first_result`` (ms), ``logits``, ``facts``.
    """

    def __init__(self, name: str, folder: Path, picture: Path, context: str) -> None:
        contender = CONTENDERS[name]
        self.name = name
        command = [sys.executable, str(HERE / "side_by_side_worker.py"), contender.runner, str(folder / contender.file)]
        site = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH", "")]))
        self._process = subprocess.Popen(
            [*command, str(picture), "--threads", str(contender.threads), "--context", context],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **UNCACHED, "PYTHONPATH": site},
        )
        self.first = self._answer()

    def frames(self, count: int) -> dict[str, list[float]]:
        """Run ``count`` frames; return their times in milliseconds."""
        assert self._process.stdin is not None
        print("frames", count, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None and self._process.stderr is not None
        line = self._process.stdout.readline()
        if not line:
            said = self._process.stderr.read().strip().rsplit("\n", 1)[-1]
            raise RunError(f"{self.name} ended: {said}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


def measure(folder: Path, names: Sequence[str], context: str, starts: int, rounds: int, frames: int) -> dict[str, Any]:
    """Start each contender ``starts`` times in turn, then let the last process of each run rounds of frames in turn.

    Raises:
        RunError: a contender failed.
    """
    size = bundle.read(folder / CONTENDERS[BASE].file).manifest.input.size
    picture = folder / "picture.npy"
    np.save(picture, preprocess.load(PHOTOGRAPH, size))
    running: list[Process] = []
    started: dict[str, list[float]] = {name: [] for name in names}
    try:
        for name in bar([*names] * starts, "starting"):
            if len(running) == len(names):
                running.pop(0).close()
            running.append(Process(name, folder, picture, context))
            started[name].append(running[-1].first["first_result"])
        timed: dict[str, list[dict[str, list[float]]]] = {name: [] for name in names}
        for _ in bar(range(rounds), "rounds"):
            for process in running:
                timed[process.name].append(process.frames(frames))
        base = np.asarray(next(process for process in running if process.name == BASE).first["logits"])
        for process in running:
            if not difference(np.asarray(process.first["logits"]), base) <= MOST_OFF:  # also refuses NaN
                raise RunError(f"{process.name} computes something else than {BASE}: not the same model")
        results = {process.name: summary(process.first, timed[process.name], timed[BASE], base) for process in running}
        for name, times in started.items():
            results[name] |= {
                "first_result_ms": statistics.median(times),
                "first_result_ratio": spread([mine / its for mine, its in zip(times, started[BASE])]),
            }
        return results
    finally:
        for process in running:
            process.close()


def main() -> int:
    """Prepare, measure, print; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("--keras", type=Path, help="the model; default: --network")
    parser.add_argument("--network", choices=SIZES, default="x22", help="with random weights (x22)")
    parser.add_argument("--size", type=int, help="of that network's pictures (x22: 385, mobilenet: 128)")
    parser.add_argument("--folder", type=Path, help="where files are kept and found again; default: none are kept")
    parser.add_argument("--prepare", action="store_true", help="make the files in --folder and end")
    usual = ",".join(name for name in CONTENDERS if name not in ("literal", UNIFORM))
    parser.add_argument("--only", default=usual, help=f"who takes part; {BASE} always does")
    parser.add_argument("--context", default="auto", help="as for glsl-infer benchmark")
    parser.add_argument("--starts", type=int, default=3, help="of each contender, for its first result (3)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frames", type=int, default=5, help="of each contender in each round (5)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    try:
        names = [name for name in CONTENDERS if name in {*args.only.split(","), BASE}]
        unknown = set(args.only.split(",")) - set(CONTENDERS)
        if unknown:
            raise InputError(f"--only {', '.join(sorted(unknown))}: no such; there are {', '.join(CONTENDERS)}")
        if args.prepare and args.folder is None:
            raise InputError("--prepare makes files to keep: give --folder")
        if min(args.starts, args.rounds, args.frames) < 1:
            raise InputError("--starts, --rounds and --frames are 1 or more")
        with tempfile.TemporaryDirectory() as scratch:
            folder = args.folder or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            prepare(folder, names, args.keras, args.size or SIZES[args.network], args.network)
            times = args.starts, args.rounds, args.frames
            results = {} if args.prepare else measure(folder, names, args.context, *times)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.json:
        print(json.dumps(results, indent=1))
    elif results:
        renderer = results[BASE]["renderer"]
        print(
            "\n".join(
                [
                    f"{renderer}; ratios to {BASE}: median (least to largest) of {args.rounds} rounds, of "
                    f"{args.starts} starts for the first result",
                    "",
                    *table(results),
                ]
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
