#!/usr/bin/env python3
"""Test readers with a given number of files whose structure was changed maliciously.

    python scripts/bench/reliability/fuzz_files.py bundle|tflite|onnx [--files 20000] [--seconds S] [--seed 0] [--json]
        [--sound DIR]

Bundles are changed by `mutations.py`, then read and checked, with their graphs; `.tflite` and `.onnx` files are changed
by `tests/tflite_damage.py` and `tests/onnx_damage.py`, then imported and optimised. Every file must result in one of
the package's own errors, or in the result of a sound one. It is a finding if a file takes longer than `EACH` seconds,
or needs more memory than `MEMORY` in addition to the process's start, and so is a traceback. The exit code is 1 after
findings; their files are stored. Linux only; .tflite needs ai-edge-litert for its schema, .onnx needs onnx and
onnxruntime. --sound is a folder to write the sound .tflite files to; if it has some, they are read instead, which needs
only the schema.
"""

from __future__ import annotations

import argparse
import json
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/importers"), str(Path(__file__).resolve().parent)]

from glsl_infer.errors import GlslInferError  # noqa: E402

EACH = 20
MEMORY = 2 << 30
MOST_FINDINGS = 30

Make = Callable[[int, int], tuple[str, bytes]]
"""From a seed and an index to the kind of change and the bytes of a changed file."""
Try = Callable[[bytes], str]
"""From the bytes of a file to its result."""


class TooLongError(Exception):
    """A file exceeded the time limit."""


def bundles(folder: Path, sound: Path | None = None, *, parts: bool = True) -> tuple[Make, Try]:
    """Return functions that create and that read changed bundles; with ``parts``, some have parts for the CPU."""
    import tiny
    from choices import Draw
    from hypothesis.errors import InvalidArgument
    from mutations import KINDS

    from glsl_infer import bundle as reader

    sources = [tiny.tiny_bundle(weights, layout) for weights in ("uniform", "baked", "texture")
               for layout in ("atlas", "planar")]  # fmt: skip
    files = []
    for number, source in enumerate(sources):
        reader.write(source, folder / f"{number}.glslnn")
        files.append((folder / f"{number}.glslnn").read_bytes())
    for name in ("several", "fine", "numbers", *(["cpu-parts"] if parts else [])):
        files.append((ROOT / f"tests/conformance/{name}.glslnn").read_bytes())
    kinds = sorted(KINDS)
    place = folder / "tried.glslnn"

    def make(seed: int, number: int) -> tuple[str, bytes]:
        draw = Draw((seed, number))
        for _ in range(20):
            kind, data = draw.random.choice(kinds), draw.random.choice(files)
            try:
                return kind, KINDS[kind](draw, data)
            except (
                InvalidArgument,
                KeyError,
                IndexError,
                ValueError,
                StopIteration,
            ):  # the file has nothing to apply this change to
                continue
        return "sound", files[0]

    def attempt(data: bytes) -> str:
        place.write_bytes(data)
        bundle = reader.read(place)
        _ = bundle.graph
        return "taken"

    return make, attempt


def sound_tflite() -> list[bytes]:
    """Return .tflite files of each operator's case, and quantised ones, whose ranges need LiteRT."""
    from test_tflite_operators import CASES
    from test_tflite_pieces import ON_CPU, free_sizes
    from test_tflite_quantized import quantize, random_network
    from tflite_files import File

    files = [quantize(*random_network(seed), kind) for seed, kind in ((0, "INT8"), (1, "UINT8"))]
    files.append(free_sizes())
    for cases in (CASES, ON_CPU):
        for builds in cases.values():
            for seed, build in enumerate(builds):
                made = File(seed)
                files.append(made.bytes([build(made, made.conv(made.input((1, 8, 6, 3)), 4))]))
    return files


def tflite(_: Path, sound: Path | None = None) -> tuple[Make, Try]:
    """Return functions that create and that import changed .tflite files."""
    from tflite_damage import damaged

    from glsl_infer.compiler.optimize import optimize
    from glsl_infer.importers.tflite.file import parse
    from glsl_infer.importers.tflite.reader import survey_of

    files = [] if sound is None else [path.read_bytes() for path in sorted(sound.glob("*.tflite"))]
    if not files:
        files = sound_tflite()
        if sound is not None:
            sound.mkdir(parents=True, exist_ok=True)
            for number, data in enumerate(files):
                (sound / f"{number:04}.tflite").write_bytes(data)

    def make(seed: int, number: int) -> tuple[str, bytes]:
        return "structure", damaged(files[number % len(files)], np.random.default_rng((seed, number)))

    def attempt(data: bytes) -> str:
        survey = survey_of(parse(data, "damaged.tflite"))
        if survey.graph is None or survey.problems:
            return "refused"
        optimize(survey.graph)
        return "taken"

    return make, attempt


def onnx(folder: Path, sound: Path | None = None) -> tuple[Make, Try]:
    """Return functions that create and that import changed .onnx files."""
    from onnx_damage import damaged, sound
    from onnx_networks import network

    from glsl_infer.compiler.optimize import optimize
    from glsl_infer.importers import onnx as importer

    files = [sound(seed) for seed in range(6)]
    files += [network(seed)[0].SerializeToString() for seed in range(24)]
    place = folder / "damaged.onnx"

    def make(seed: int, number: int) -> tuple[str, bytes]:
        return "structure", damaged(files[number % len(files)], np.random.default_rng((seed, number)))

    def attempt(data: bytes) -> str:
        place.write_bytes(data)
        survey = importer.survey(place)
        if survey.graph is None or survey.problems:
            return "refused"
        optimize(survey.graph)
        return "taken"

    return make, attempt


KINDS = {"bundle": bundles, "tflite": tflite, "onnx": onnx}


def _late(number: int, frame: FrameType | None) -> None:
    raise TooLongError


def fuzz(
    kind: str, count: int, seconds: float, seed: int, keep: Path, folder: Path, sound: Path | None = None
) -> dict[str, object]:
    """Test ``count`` files, or fewer if the time is over; return the counts and findings, as plain data."""
    make, attempt = KINDS[kind](folder, sound)
    kinds, verdicts, found = Counter[str](), Counter[str](), Counter[str]()
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, _late)
    warnings.simplefilter("ignore")
    slowest, began = 0.0, time.monotonic()
    for number in range(count):
        if time.monotonic() - began > seconds:
            break
        how, data = make(seed, number)
        kinds[how] += 1
        started = time.monotonic()
        signal.alarm(EACH)
        try:
            verdicts[attempt(data)] += 1
        except GlslInferError:
            verdicts["refused"] += 1
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {str(error)[:120]}"
            if not found[name]:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}-{number}.{kind}").write_bytes(data)
                print(f"file {number}: {name}", file=sys.stderr, flush=True)
            found[name] += 1
            if len(found) >= MOST_FINDINGS:
                break
        finally:
            signal.alarm(0)
        slowest = max(slowest, time.monotonic() - started)
    return {
        "what": kind,
        "seed": seed,
        "files": sum(kinds.values()),
        "kinds": dict(sorted(kinds.items())),
        "verdicts": dict(sorted(verdicts.items())),
        "seconds": round(time.monotonic() - began, 1),
        "slowest_s": round(slowest, 3),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
        "findings": [f"{name} ({times} times)" for name, times in found.items()],
    }


def main() -> int:
    """Test files, and print the findings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="end after so many, with fewer files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--sound", type=Path, help="where sound .tflite files are kept")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = fuzz(args.kind, args.files, args.seconds, args.seed, args.keep, Path(folder), args.sound)
    findings = list(made["findings"])  # type: ignore[call-overload]
    if args.json:
        print(json.dumps(made))
    else:
        print(f"{made['files']} files in {made['seconds']} s: {made['verdicts']}; slowest {made['slowest_s']} s; "
              f"{len(findings)} findings", *findings, sep="\n")  # fmt: skip
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
