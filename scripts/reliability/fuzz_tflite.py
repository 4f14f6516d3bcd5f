#!/usr/bin/env python3
"""Try the importer with .tflite files whose structure was changed in hostile ways (`tests/tflite_damage.py`).

    python scripts/reliability/fuzz_tflite.py [--files 20000] [--seed 0] [--keep DIR]

Every file must end in an error of our own class, or in a graph that the optimiser takes. A file that takes longer than
`EACH` seconds, or needs more memory than `MEMORY` besides what the process began with, is a finding, like a traceback.
Exit code 1 if there are findings; their files are kept. Linux only; needs ai-edge-litert for the schema that writes.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/importers")]

from test_tflite_operators import CASES  # noqa: E402
from test_tflite_pieces import ON_CPU, free_sizes  # noqa: E402
from test_tflite_quantized import quantize, random_network  # noqa: E402
from tflite_damage import damaged  # noqa: E402
from tflite_files import File  # noqa: E402

from glsl_infer.compiler.optimize import optimize  # noqa: E402
from glsl_infer.errors import GlslInferError  # noqa: E402
from glsl_infer.importers.tflite.file import parse  # noqa: E402
from glsl_infer.importers.tflite.reader import survey_of  # noqa: E402

EACH = 20
MEMORY = 2 << 30
MOST_FINDINGS = 30


class TooLongError(Exception):
    """A file took longer than it may."""


def sources() -> list[bytes]:
    """Return sound files: one for each operator's case, and quantised networks."""
    files = [quantize(*random_network(seed), kind) for seed, kind in ((0, "INT8"), (1, "UINT8"))]
    files.append(free_sizes())
    for cases in (CASES, ON_CPU):
        for builds in cases.values():
            for seed, build in enumerate(builds):
                made = File(seed)
                files.append(made.bytes([build(made, made.conv(made.input((1, 8, 6, 3)), 4))]))
    return files


def tried(data: bytes) -> str:
    """Import a file; return what became of it."""
    try:
        survey = survey_of(parse(data, "damaged.tflite"))
        if survey.graph is None or survey.problems:
            return "refused"
        optimize(survey.graph)
    except GlslInferError:
        return "refused"
    return "imported"


def _late(number: int, frame: FrameType | None) -> None:
    raise TooLongError


def main() -> int:
    """Try files, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    args = parser.parse_args()
    files, verdicts, found = sources(), Counter[str](), Counter[str]()
    used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    signal.signal(signal.SIGALRM, _late)
    slowest, began = 0.0, time.monotonic()
    for number in range(args.files):
        rng = np.random.default_rng((args.seed, number))
        data = damaged(files[number % len(files)], rng)
        started = time.monotonic()
        signal.alarm(EACH)
        try:
            verdicts[tried(data)] += 1
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            name = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:120]}"
            if not found[name]:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{args.seed}-{number}.tflite").write_bytes(data)
                print(f"file {number}: {name}", flush=True)
            found[name] += 1
            if len(found) >= MOST_FINDINGS:
                break
        finally:
            signal.alarm(0)
        slowest = max(slowest, time.monotonic() - started)
    seconds = time.monotonic() - began
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    print(f"{sum(verdicts.values())} files from {len(files)} in {seconds:.0f} s: {told}; slowest {slowest:.2f} s; "
          f"{len(found)} findings")  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
