"""The process that tests changed files one after the other, started and monitored by ``fuzz.py``.

    python fuzz_worker.py JOB.json

It prints a JSON line before each file (its kind) and one after it (the result). A reader of these lines can identify
the file that crashed or hung: it is in the job's folder.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import trial
from mutations import mutated

ROOT = Path(__file__).resolve().parents[3]

Target = tuple[Callable[[tuple[int, int]], tuple[str, bytes]], Callable[[Path], str], Callable[[], Any]]
"""How files of a format are tested: from a seed to a kind of change and a file; from a file to the result of reading
it; and the results for the sound files."""


def sound_bundles(folder: Path, *, parts: bool = True) -> list[bytes]:
    """Return tiny bundles of all storage modes, one in models/ and some of tests/conformance; with or without parts."""
    import tiny

    paths = [tiny.write_tiny(folder, f"{weights}-{layout}.glslnn", weights, layout)
             for weights in ("uniform", "baked", "texture") for layout in ("atlas", "planar")]  # fmt: skip
    paths += sorted((ROOT / "models").glob("*.glslnn"))[-1:]
    names = ("several", "fine", "numbers", *(["cpu-parts"] if parts else []))
    return [path.read_bytes() for path in (*paths, *(ROOT / f"tests/conformance/{name}.glslnn" for name in names))]


def bundle(job: dict[str, Any]) -> Target:
    """Return how bundles are tested: read, inspected, and with ``gl`` run."""
    from glsl_infer import bundle as bundles
    from glsl_infer.bundle import probe
    from glsl_infer.gl.context import Context
    from glsl_infer.runtime.session import Session

    folder = Path(job["folder"]) / "sound"
    folder.mkdir(exist_ok=True)
    files = sound_bundles(folder)
    context = Context() if job["gl"] else None

    def results() -> list[Any]:
        if context is None:
            return []
        outputs = []
        for path in sorted(folder.glob("*.glslnn")):
            with Session(bundles.read(path), context=context, cache=False) as session:
                outputs += list(session.run(probe.inputs(session.bundle.manifest.inputs)).values())
        return outputs

    return lambda seed: mutated(seed, files, job["kinds"]), lambda path: trial.check(path, context), results


def tflite(_: dict[str, Any]) -> Target:
    """Return how .tflite files of each operator's case, and quantised ones, are tested: imported and optimised."""
    from test_tflite_operators import CASES
    from test_tflite_pieces import ON_CPU, free_sizes
    from test_tflite_quantized import quantize, random_network
    from tflite_damage import damaged
    from tflite_files import File

    from glsl_infer.importers.tflite.file import parse
    from glsl_infer.importers.tflite.reader import survey_of

    files = [quantize(*random_network(seed), kind) for seed, kind in ((0, "INT8"), (1, "UINT8"))]
    files.append(free_sizes())
    for cases in (CASES, ON_CPU):
        for builds in cases.values():
            for seed, build in enumerate(builds):
                file = File(seed)
                files.append(file.bytes([build(file, file.conv(file.input((1, 8, 6, 3)), 4))]))
    return _imported(files, damaged, lambda path: survey_of(parse(path.read_bytes(), "damaged.tflite")))


def onnx(_: dict[str, Any]) -> Target:
    """Return how .onnx files are tested: imported and optimised."""
    from onnx_damage import damaged, sound
    from onnx_networks import network

    from glsl_infer.importers import onnx as importer

    files = [sound(seed) for seed in range(6)]
    files += [network(seed)[0].SerializeToString() for seed in range(24)]
    return _imported(files, damaged, importer.survey)


def _imported(files: list[bytes], damaged: Callable[[bytes, Any], bytes], survey: Callable[[Path], Any]) -> Target:
    from glsl_infer.compiler.optimize import optimize
    from glsl_infer.errors import GlslInferError

    def make(seed: tuple[int, int]) -> tuple[str, bytes]:
        return "structure", damaged(files[seed[1] % len(files)], np.random.default_rng(seed))

    def attempt(path: Path) -> str:
        try:
            report = survey(path)
            if report.graph is None or report.problems:
                return trial.REFUSED
            optimize(report.graph)
        except GlslInferError:
            return trial.REFUSED
        return trial.RUN

    return make, attempt, lambda: []


TARGETS = {"bundle": bundle, "tflite": tflite, "onnx": onnx}


def work(job: dict[str, Any]) -> None:
    """Test files until the time is over.

    Args:
        job: ``target``, one of ``TARGETS``; ``folder`` for files; ``seed``; ``seconds`` and ``files``, after which it
            ends; ``gl``, whether to run bundles; ``kinds`` of their changes; ``memory``, bytes of address space allowed
            beyond those of the start.
    """
    deadline = time.monotonic() + job["seconds"]
    make, attempt, results = TARGETS[job["target"]](job)
    before = results()  # loads everything
    soft = _status("VmSize") + job["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.getrlimit(resource.RLIMIT_AS)[1]))
    warnings.simplefilter("ignore")
    _say({"start_rss": _status("VmRSS")})
    path = Path(job["folder"]) / f"current.{'glslnn' if job['target'] == 'bundle' else job['target']}"
    for index in range(job["files"]):
        if time.monotonic() > deadline:
            break
        kind, data = make((job["seed"], index))
        path.write_bytes(data)
        _say({"kind": kind})
        started = time.monotonic()
        try:
            verdict = attempt(path)
        except Exception:
            _say({"finding": traceback.format_exc()})
        else:
            _say({"verdict": verdict, "s": time.monotonic() - started})
    same = all(np.array_equal(a, b) for a, b in zip(before, results()))
    _say({"peak_rss": _status("VmHWM"), "sound_files_as_before": same})


def _status(key: str) -> int:
    """Return the value of a key in /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{key}:"))


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    work(json.loads(Path(sys.argv[1]).read_text("utf-8")))
