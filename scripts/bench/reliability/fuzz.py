#!/usr/bin/env python3
"""Test readers and the runner with maliciously changed files, for a bounded time.

    python scripts/bench/reliability/fuzz.py [bundle|tflite|onnx] [--seconds 60] [--files N] [--seed 0] [--no-gl]
        [--kinds KIND ...] [--keep DIR] [--json]

Sound bundles (tiny ones of every kind, one in models/, some of tests/conformance) are changed in their bytes, zip
structure, manifest, passes, graph, GLSL, weights and labels (``mutations.py``), then read, inspected and run
(``trial.py``). The structure of `.tflite` and `.onnx` files is changed by `tests/tflite_damage.py` and
`tests/onnx_damage.py`; they are imported and optimised. Every file must result in one of the package's own errors or in
the result of a sound one. The process that tests them is monitored. It is a finding if it crashes, takes longer than
20 s for a file, or needs over 1 GiB more memory than at its start (2 GiB to import), and so is a traceback. If the same
bundle can be read and inspected without GL, the driver crashed or hung; such findings are counted separately. Files of
both are stored in --keep, by default ./fuzz-findings. The exit code is 1 after findings. Linux only; needs the
checkout's tests/, .tflite ai-edge-litert, .onnx onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(Path(__file__).resolve().parent)]

from fuzz_worker import TARGETS  # noqa: E402
from mutations import KINDS  # noqa: E402

from glsl_infer.errors import GlslInferError, InputError, RunError  # noqa: E402

SECONDS_PER_FILE = 20.0
"""Timeout of one file in seconds."""
START = 120.0
"""Timeout of the process's start in seconds."""
MEMORY = {"bundle": 1 << 30, "tflite": 2 << 30, "onnx": 2 << 30}
"""Bytes of address space allowed for a file."""
MAX_FINDINGS = 20


class Fuzzing:
    """A run: its files, their results, and the findings."""

    def __init__(self, job: dict[str, Any], folder: Path, keep: Path) -> None:
        self._job, self._folder, self._keep = {**job, "folder": str(folder)}, folder, keep
        self.kinds: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.findings: list[dict[str, str]] = []
        self.driver: list[dict[str, str]] = []
        self.slowest, self.slowest_kind = 0.0, ""
        self.processes = self.grown = 0

    def run(self, seconds: float, seed: int) -> None:
        """Test files for ``seconds``, in as many processes as necessary: a finding can end one.

        Raises:
            RunError: a process fails without a file as its cause.
        """
        deadline = time.monotonic() + seconds
        files = self._job["files"]
        while (
            time.monotonic() < deadline
            and self._tested < files
            and len(self.findings) + len(self.driver) < MAX_FINDINGS
        ):
            left = {"seconds": deadline - time.monotonic(), "files": files - self._tested}
            self._process({**self._job, **left, "seed": seed + self.processes})
            self.processes += 1

    @property
    def _tested(self) -> int:
        return sum(self.kinds.values())

    def _process(self, job: dict[str, Any]) -> None:
        file, errors = self._folder / "job.json", self._folder / "errors.txt"
        file.write_text(json.dumps(job), "utf-8")
        worker = Path(__file__).with_name("fuzz_worker.py")
        with (
            errors.open("w") as err,
            subprocess.Popen(
                [sys.executable, "-W", "ignore", str(worker), str(file)],
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
                env=_environment(),
            ) as process,
        ):
            assert process.stdout is not None
            lines: queue.Queue[str | None] = queue.Queue()
            threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True).start()
            try:
                kind, ended = self._follow(lines)
                if ended == "died":
                    process.wait(SECONDS_PER_FILE)
            finally:
                process.kill()
        last = errors.read_text("utf-8", "replace")[-1500:]
        if ended == "complete":
            return
        if not kind or process.returncode > 0:  # an error outside of a trial is a bug of the fuzzer
            raise RunError(f"the process that tries the files failed by itself:\n{last}")
        lists = self.driver if job["gl"] and self._is_read() else self.findings
        self._found(kind, f"the process {ended} (exit code {process.returncode})\n{last}", lists)

    def _is_read(self) -> bool:
        """Return whether the last file passes without a driver."""
        trial = Path(__file__).with_name("trial.py")
        command = [sys.executable, str(trial), str(self._current)]
        try:
            done = subprocess.run(
                command, env=_environment(), timeout=SECONDS_PER_FILE, capture_output=True, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def _follow(self, lines: queue.Queue[str | None]) -> tuple[str, str]:
        """Read the lines of the process; return the kind of its last file, and how it ended."""
        kind, start = "", 0
        while True:
            try:
                text = lines.get(timeout=SECONDS_PER_FILE if kind else START)
            except queue.Empty:
                return kind, f"hung for {SECONDS_PER_FILE:.0f} s"
            if text is None:
                return kind, "died"
            line: dict[str, Any] = json.loads(text)
            if "start_rss" in line:
                start = line["start_rss"]
            elif "kind" in line:
                kind = line["kind"]
                self.kinds[kind] += 1
            elif "verdict" in line:
                self.verdicts[line["verdict"]] += 1
                if line["s"] > self.slowest:
                    self.slowest, self.slowest_kind = line["s"], kind
            elif "finding" in line:
                self._found(kind, line["finding"], self.findings)
            else:
                self.grown = max(self.grown, line["peak_rss"] - start)
                if not line["sound_files_as_before"]:
                    self._found("sound bundles", "they give other results than before", self.findings)
                return kind, "complete"

    @property
    def _current(self) -> Path:
        """The file that is tested."""
        return next(self._folder.glob("current.*"))

    def _found(self, kind: str, what: str, findings: list[dict[str, str]]) -> None:
        if what in (finding["what"] for finding in findings):
            return
        self._keep.mkdir(parents=True, exist_ok=True)
        name = "driver" if findings is self.driver else "finding"
        copy = self._keep / f"{name}-{len(findings)}{self._current.suffix}"
        copy.write_bytes(self._current.read_bytes())
        findings.append({"kind": kind, "what": what, "file": str(copy)})


def _environment() -> dict[str, str]:
    folders = (str(ROOT), str(ROOT / "tests"), str(ROOT / "tests/importers"))
    path = os.pathsep.join(filter(None, (*folders, os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path}


def _forward(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def fuzz(job: dict[str, Any], seconds: float, seed: int, keep: Path) -> dict[str, Any]:
    """Test files and return the counts and findings, as plain data.

    Args:
        job: ``target``, ``files``, ``gl`` and ``kinds`` of ``fuzz_worker.work``.
        seconds: time limit.
        seed: of the first process.
        keep: folder for the files of findings.

    Raises:
        InputError: ``seconds`` is not positive.
        RunError: the testing process fails without a file as its cause.
    """
    if not seconds > 0:
        raise InputError(f"--seconds {seconds:g}; give a positive number")
    with tempfile.TemporaryDirectory() as folder:
        run = Fuzzing({**job, "memory": MEMORY[job["target"]]}, Path(folder), keep)
        run.run(seconds, seed)
    return {
        "seconds": seconds,
        "seed": seed,
        "target": job["target"],
        "gl": job["gl"],
        "files": sum(run.kinds.values()),
        "kinds": dict(sorted(run.kinds.items())),
        "verdicts": dict(sorted(run.verdicts.items())),
        "slowest_s": round(run.slowest, 3),
        "slowest_kind": run.slowest_kind,
        "grown_bytes": run.grown,
        "processes": run.processes,
        "findings": run.findings,
        "driver": run.driver,
    }


def main() -> int:
    """Fuzz and print; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("target", nargs="?", choices=sorted(TARGETS), default="bundle", help="files (default: bundle)")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--files", type=int, default=1 << 40, help="end after so many (default: without end)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-gl", action="store_true", help="read the files only")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="where findings' files go")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kinds", nargs="+", choices=sorted(KINDS), default=[], help="change files only so")
    arguments = parser.parse_args()
    try:
        is_bundle = arguments.target == "bundle"
        job = {"target": arguments.target, "files": arguments.files, "kinds": arguments.kinds}
        job["gl"] = is_bundle and not arguments.no_gl
        result = fuzz(job, arguments.seconds, arguments.seed, arguments.keep)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['files']} files in {result['seconds']:g} s, seed {result['seed']}")
        for title in ("kinds", "verdicts"):
            print("  " + ", ".join(f"{name}: {count}" for name, count in result[title].items()))
        print(f"  slowest {result['slowest_s']} s ({result['slowest_kind']})")
        print(f"  memory grown by {result['grown_bytes'] / (1 << 20):.0f} MiB at most")
        print(f"{len(result['findings'])} findings, {len(result['driver'])} crashes or hangs of the driver")
        for finding in (*result["findings"], *result["driver"]):
            print(f"{finding['kind']}: {finding['file']}\n{finding['what']}")
    return 1 if result["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
