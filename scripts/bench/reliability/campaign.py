#!/usr/bin/env python3
"""Test many malformed files and shaders in one process for each core, and write the findings as JSON.

    python scripts/bench/reliability/campaign.py --out campaign.json [--processes 16] [--seconds 480] [--seed 0]
        [--bundle 50000] [--tflite 40000] [--onnx 40000] [--llvmpipe 10000] [--softpipe 10000] [--nvidia 0]
        [--sessions 10000] [--mesa FOLDER] [--sound FOLDER]

The numbers count files for `fuzz_files.py`, shaders for the drivers of `shaders.py`, and sessions that `sessions.py`
drops. Each kind first runs a few; if it cannot start on this machine, the reason is reported and the others go on. Then
each kind is divided into pieces, each with its own seed, and the kinds take turns to get equally far in the time. Every
finished piece is appended to a file next to --out (`*.pieces.jsonl`), and --out is rewritten. --mesa and --sound are
the contents of an archive by `pack_campaign.sh`, for a machine without Mesa and LiteRT; nvidia is that machine's own
driver. Files of findings are written to a folder next to --out. The exit code is 1 after findings, or if kinds did not
start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DRIVERS = ("llvmpipe", "softpipe", "nvidia")
SESSIONS = "sessions"
COUNTS = {
    SESSIONS: 10_000,
    "llvmpipe": 10_000,
    "bundle": 50_000,
    "onnx": 40_000,
    "tflite": 40_000,
    "softpipe": 10_000,
    "nvidia": 0,
}
"""Default number of each kind; kinds that take longest come first."""
FEW = {SESSIONS: 30, "bundle": 40, "onnx": 40, "tflite": 40}
"""Number of each kind in the first test; 4 for shaders."""
GRACE = 60.0
"""Seconds that a process can exceed its time limit."""


class Campaign:
    """The runs of all kinds, with their files and time limit.

    Args:
        out: the JSON file; the others are in its folder.
        seconds: seconds until the last piece ends.
        mesa: a folder with Mesa, for a machine without it.
        sound: a folder of .tflite files, for a machine without LiteRT.
    """

    def __init__(self, out: Path, seconds: float, mesa: Path | None, sound: Path | None = None) -> None:
        self._sound = sound
        self._out, self._mesa = out, None if mesa is None else mesa.resolve()
        self._began = time.monotonic()
        self._end = self._began + seconds
        self._lock = threading.Lock()
        self._keep = out.with_name(f"{out.stem}-findings").resolve()
        self.pieces: list[dict[str, Any]] = []
        self.stopped: dict[str, str] = {}

    def run(self, counts: dict[str, int], processes: int, seed: int) -> dict[str, Any]:
        """Run all kinds; return the results as plain data."""
        log = self._out.with_suffix(".pieces.jsonl")
        log.write_text("", "utf-8")
        # At most two pieces, because leaks add up only over the sessions of one process.
        pieces = {kind: min(2 if kind == SESSIONS else 2 * processes, count) for kind, count in counts.items() if count}
        with ThreadPoolExecutor(processes) as pool:
            tried = {kind: pool.submit(self._piece, kind, FEW.get(kind, 4), 999_999) for kind in pieces}
            for kind, future in tried.items():
                if why := future.result().get("failed"):
                    self.stopped[kind] = why
                    print(f"{kind}: does not start here: {why}", file=sys.stderr, flush=True)
            jobs = [
                (number / pieces[kind], kind, -(-counts[kind] // pieces[kind]), 1000 * seed + number)
                for kind in pieces
                if kind not in self.stopped
                for number in range(pieces[kind])
            ]
            waiting = [pool.submit(self._piece, *job[1:]) for job in sorted(jobs, key=lambda job: job[0])]
            made = self._summary(counts, processes, seed)
            for future in as_completed(waiting):
                piece = future.result()
                self.pieces.append(piece)
                with log.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps(piece) + "\n")
                made = self._summary(counts, processes, seed)
                self._out.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
        self._out.write_text(json.dumps(made, indent=2) + "\n", "utf-8")
        return made

    def _piece(self, kind: str, count: int, seed: int) -> dict[str, Any]:
        """Run ``count`` of a kind in a process; return its report as plain data."""
        left = self._end - time.monotonic()
        if left < 1:
            return {"kind": kind, "seed": seed, "wall_s": 0.0, "files": 0}
        rest = ["--seconds", f"{left:.0f}", "--json"]
        if kind != SESSIONS:
            rest += ["--seed", str(seed), "--keep", str(self._keep)]
        if kind == SESSIONS:
            words = ["sessions.py", "--sessions", str(count)]
        elif kind in DRIVERS:
            words = ["shaders.py", "--shaders", str(count)]
        else:
            words = ["fuzz_files.py", kind, "--files", str(count)]
            if kind == "tflite" and self._sound is not None:
                words += ["--sound", str(self._sound)]
        command = [sys.executable, "-W", "ignore", str(HERE / words[0]), *words[1:], *rest]
        began = time.monotonic()
        said: dict[str, Any]
        try:
            done = subprocess.run(
                command,
                env=self._environment(kind),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=left + GRACE,
                check=False,
            )
            said = json.loads(done.stdout.splitlines()[-1])
        except subprocess.TimeoutExpired:
            said = {"late": True}
        except (ValueError, IndexError):
            said = {"failed": f"exit code {done.returncode}: {done.stderr.strip()[-600:]}"}
        except OSError as error:
            said = {"failed": str(error)}
        return {"kind": kind, "seed": seed, "wall_s": round(time.monotonic() - began, 1), **said}

    def _environment(self, kind: str) -> dict[str, str]:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LP_NUM_THREADS": "0"}
        environment["GLSL_INFER_CACHE"] = "off"
        if kind not in (*DRIVERS, SESSIONS):
            return environment
        if kind == "nvidia":
            environment |= {"__GL_SHADER_DISK_CACHE": "0", "CUDA_VISIBLE_DEVICES": "0"}
            vendors = [Path(f"{root}/glvnd/egl_vendor.d/10_nvidia.json")
                       for root in ("/usr/share", "/etc", "/usr/local/nvidia/share")]  # fmt: skip
            environment["__EGL_VENDOR_LIBRARY_FILENAMES"] = ":".join(str(path) for path in vendors if path.exists())
            return environment | self._libraries("glvnd")
        environment |= {"LIBGL_ALWAYS_SOFTWARE": "1", "GALLIUM_DRIVER": "softpipe" if kind == SESSIONS else kind}
        if self._mesa is not None:
            environment |= {
                "LIBGL_DRIVERS_PATH": str(self._mesa / "dri"),
                "__EGL_VENDOR_LIBRARY_FILENAMES": str(self._mesa / "egl.json"),
                "EGL_PLATFORM": "surfaceless",
                **self._libraries("glvnd", "lib"),
            }
        return environment

    def _libraries(self, *folders: str) -> dict[str, str]:
        if self._mesa is None:
            return {}
        own = os.environ.get("LD_LIBRARY_PATH", "")
        return {
            "LD_LIBRARY_PATH": ":".join([*(str(self._mesa / folder) for folder in folders), *([own] if own else [])])
        }

    def _summary(self, counts: dict[str, int], processes: int, seed: int) -> dict[str, Any]:
        return {
            "processes": processes,
            "seed": seed,
            "wall_s": round(time.monotonic() - self._began),
            "stopped": self.stopped,
            "of": {kind: summary(kind, self.pieces) for kind in counts if counts[kind] and kind not in self.stopped},
        }


def summary(kind: str, pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the sums over the pieces of one kind."""
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
        "cpu_s": round(sum(entry["wall_s"] for entry in mine)),
        "late": sum(entry.get("late", False) for entry in mine),
        "grown": [entry["grown"] for entry in mine if "grown" in entry],
        "failed": [entry["failed"] for entry in mine if "failed" in entry],
        "findings": [finding for entry in mine for finding in entry.get("findings", ())],
    }


def main() -> int:
    """Run the campaign and print its findings; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mesa", type=Path)
    parser.add_argument("--sound", type=Path)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=count)
    args = parser.parse_args()
    campaign = Campaign(args.out, args.seconds, args.mesa, args.sound)
    made = campaign.run({kind: getattr(args, kind) for kind in COUNTS}, args.processes, args.seed)
    wrong = bool(made["stopped"])
    for kind, entry in made["of"].items():
        bad = [*entry["findings"], *entry["failed"], *(["late"] * entry["late"])]
        wrong |= bool(bad)
        print(f"{kind}: {entry['files']}, {entry['verdicts']}; slowest {entry['slowest_s']} s, "
              f"{entry['most_bytes'] >> 20} MiB; {len(bad)} findings", *bad[:10], sep="\n    ")  # fmt: skip
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
