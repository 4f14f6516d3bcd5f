#!/usr/bin/env python3
"""Try many files and shaders of strangers in as many processes as there are cores, and write what was found as JSON.

    python scripts/reliability/campaign.py --out campaign.json [--processes 16] [--seconds 480] [--seed 0]
        [--bundle 100000] [--tflite 40000] [--onnx 40000] [--llvmpipe 10000] [--softpipe 10000] [--sessions 10000]
        [--mesa FOLDER]

The numbers are files that `fuzz_files.py` reads, and shaders that meet a driver in `shaders.py`. Each kind is cut into
pieces, a seed each. --mesa: what `pack_mesa.sh` packed, for a machine without Mesa. Findings' files go to a folder
beside --out. A piece that fails by itself is a finding, with its last words. Exit code 1 if there are findings.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DRIVERS = ("llvmpipe", "softpipe")
WHOLE = "sessions"
"""Is not cut: one process opens and drops all of them."""
COUNTS = {WHOLE: 10_000, "llvmpipe": 10_000, "bundle": 100_000, "onnx": 40_000, "tflite": 40_000, "softpipe": 10_000}
"""How many of each; what takes longest comes first."""


def piece(kind: str, count: int, seed: int, end: float, keep: Path, mesa: Path | None) -> dict[str, Any]:
    """Try so many of a kind in a process; return what it said, as plain data."""
    left = max(1.0, end - time.monotonic())
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LP_NUM_THREADS": "0"}
    if kind in (*DRIVERS, WHOLE):
        driver = "softpipe" if kind == WHOLE else kind
        environment |= {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": driver, "GLSL_INFER_CACHE": "off"}
        if mesa is not None:
            environment |= {
                "LD_LIBRARY_PATH": str(mesa / "lib"),
                "LIBGL_DRIVERS_PATH": str(mesa / "dri"),
                "__EGL_VENDOR_LIBRARY_FILENAMES": str(mesa / "egl.json"),
                "EGL_PLATFORM": "surfaceless",
            }
    rest = ["--seed", str(seed), "--keep", str(keep)]
    if kind == WHOLE:
        command = ["sessions.py", "--sessions", str(count), "--seconds", f"{left:.0f}"]
    elif kind in DRIVERS:
        command = ["shaders.py", "--shaders", str(count), "--seconds", f"{left:.0f}", *rest]
    else:
        command = ["fuzz_files.py", kind, "--files", str(count), "--seconds", f"{left:.0f}", *rest]
    command = [sys.executable, "-W", "ignore", str(HERE / command[0]), *command[1:]]
    began = time.monotonic()
    try:
        done = subprocess.run(
            [*command, "--json"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=left + 60,
            check=False,
        )
        said: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        said = {"late": True}
    except ValueError:
        said = {"findings": [f"the process ended with {done.returncode}: {done.stderr.strip()[-600:]}"]}
    return {"kind": kind, "seed": seed, "wall_s": round(time.monotonic() - began, 1), **said}


def summary(kind: str, pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the pieces of one kind come to."""
    mine = [entry for entry in pieces if entry["kind"] == kind]
    verdicts, kinds = Counter[str](), Counter[str]()
    for entry in mine:
        verdicts.update(entry.get("verdicts", {}))
        kinds.update(entry.get("kinds", {}))
    return {
        "driver": next((entry["driver"] for entry in mine if entry.get("driver")), ""),
        "files": sum(entry.get("files", 0) for entry in mine),
        "verdicts": dict(verdicts),
        "kinds": dict(kinds),
        "slowest_s": max((entry.get("slowest_s", 0.0) for entry in mine), default=0.0),
        "most_bytes": max((entry.get("memory", entry.get("peak_bytes", 0)) for entry in mine), default=0),
        "wall_s": max((entry["wall_s"] for entry in mine), default=0.0),
        "late": sum(entry.get("late", False) for entry in mine),
        **({"grown": mine[0]["grown"]} if mine and "grown" in mine[0] else {}),
        "findings": [finding for entry in mine for finding in entry.get("findings", ())],
    }


def main() -> int:
    """Run the campaign and write it; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mesa", type=Path)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    args = parser.parse_args()
    end, began = time.monotonic() + args.seconds, time.monotonic()
    keep = args.out.with_name(f"{args.out.stem}-findings")
    with ThreadPoolExecutor(args.processes) as pool:
        waiting = [
            pool.submit(piece, kind, -(-count // pieces), 1000 * args.seed + number, end, keep, args.mesa)
            for kind, count in ((kind, getattr(args, kind)) for kind in COUNTS)
            for pieces in (1 if kind == WHOLE else args.processes,)
            if count
            for number in range(pieces)
        ]
        said = [future.result() for future in waiting]
    made = {kind: summary(kind, said) for kind in COUNTS if getattr(args, kind)}
    whole = {"processes": args.processes, "seed": args.seed, "wall_s": round(time.monotonic() - began), "of": made}
    args.out.write_text(json.dumps(whole, indent=2) + "\n", "utf-8")
    for kind, entry in made.items():
        print(f"{kind}: {entry['files']}, {entry['verdicts']}; slowest {entry['slowest_s']} s, "
              f"{entry['most_bytes'] >> 20} MiB; {len(entry['findings'])} findings")  # fmt: skip
        print(*(f"    {finding}" for finding in entry["findings"][:10]), sep="\n", end="")
    return 1 if any(entry["findings"] or entry["late"] for entry in made.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
