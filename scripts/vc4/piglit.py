#!/usr/bin/env python3
"""Run the OpenGL ES 2.0 part of piglit on the virtual VideoCore IV, with sums rounded to nearest, and report.

    python scripts/vc4/piglit.py            # fetches Debian's package once (34 MB, 2 GB unpacked), runs, compares
    python scripts/vc4/piglit.py --write    # stores the results in tests/vc4/piglit.json

Ends with 1 if a test that passed before no longer passes. tests/vc4/piglit.json has each test that does not pass, with
the reason. Has the requirements of ``scripts/debian_packages.py``.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from glsl_infer.cli.progress import bar
from glsl_infer.errors import GlslInferError
from glsl_infer.tools.videocore import executor
from glsl_infer.tools.videocore.driver import cache_folder

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests/vc4/piglit.json"
REASONS = {
    "draw_buffers_gles2|fbo_discard_gles2|khr_debug@": "piglit's loader finds no such function here; by "
    "eglGetProcAddress the driver does report the error",
    "texture_compression_astc": "formats that Mesa decodes itself; it fails on llvmpipe too",
}
"""Reasons of failures, by patterns of the tests' names."""

SECONDS = 60
"""Timeout of a test in seconds."""

LISTS = ("shader", "glslparser", "quick_gl")
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def unpacked() -> Path:
    """Return the folder of piglit's files, fetched if missing.

    Raises:
        GlslInferError: they cannot be fetched, or there is no folder for them.
    """
    cache = cache_folder()
    if cache is None:
        raise GlslInferError("there is no home folder to keep piglit in: set HOME or XDG_CACHE_HOME")
    folder = cache / "piglit"
    if not (folder / LIBRARIES / "piglit/tests/shader.xml.gz").is_file():
        script = ROOT / "scripts/debian_packages.py"
        done = subprocess.run(
            [sys.executable, script, folder, "piglit", "libwaffle-1-0"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise GlslInferError(f"piglit cannot be fetched: {done.stderr.strip()}")
    return folder


def tests(piglit: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of every test of OpenGL ES 2.0."""
    known = set()
    for name in LISTS:
        with gzip.open(piglit / f"tests/{name}.xml.gz") as file:
            for test in ElementTree.parse(file).getroot():
                options = {option.get("name"): option.get("value", "") for option in test}
                command = [str(word) for word in ast.literal_eval(options.get("command") or "['']")]
                if test.get("name") not in known and _is_es2(test.get("type", ""), command, options):
                    known.add(test.get("name"))
                    yield test.get("name", ""), command


def _is_es2(kind: str, command: list[str], options: Mapping[str | None, str]) -> bool:
    if kind == "shader":
        return command[0] == "shader_runner_gles2" and float(options.get("shader_version") or 1.0) <= 1.0
    if kind == "glsl_parser":
        return command[0] == "glslparsertest_gles2" and "1.00" in command
    return kind == "gl" and command[0].endswith("_gles2")


def result(piglit: Path, environment: Mapping[str, str], command: list[str]) -> tuple[str, str]:
    """Return the result of a test, one of piglit's words or ``crash`` or ``timeout``, and its last line of output."""
    full = [str(piglit / "bin" / command[0]), *command[1:]]
    if not command[0].startswith("glslparsertest"):  # without these options
        full += ["-auto", "-fbo"]
    try:
        done = subprocess.run(
            full,
            cwd=piglit,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "timeout", ""
    said = re.findall(r'PIGLIT: \{"result": "(\w+)"', done.stdout)
    named = [line for line in done.stderr.splitlines() if line.startswith("vc4 executor: not done")]
    if named:
        return "not done", named[0].removeprefix("vc4 executor: ")
    last = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("PIGLIT")]
    return (said[-1] if said else "crash"), (last[-1] if last else "")[:120]


def run(folder: Path, jobs: int) -> dict[str, tuple[str, str]]:
    """Return the results of all tests, by name."""
    piglit = folder / LIBRARIES / "piglit"
    made = executor.find().environment(rounding="nearest")
    libraries = f"{folder / LIBRARIES}:{piglit / 'lib'}:{made.get('LD_LIBRARY_PATH', '')}"
    environment = {
        **made,
        "LD_LIBRARY_PATH": libraries,
        "PIGLIT_PLATFORM": "surfaceless_egl",
        "PIGLIT_SOURCE_DIR": str(piglit),
        "PIGLIT_NO_FAST_SKIP": "1",
        "VC4_EXECUTOR_FLAGS": "kept",
    }
    elsewhere = {**os.environ, **{name: environment[name] for name in environment if name.startswith("PIGLIT_")}}
    elsewhere |= {"LIBGL_ALWAYS_SOFTWARE": "1", "LD_LIBRARY_PATH": f"{folder / LIBRARIES}:{piglit / 'lib'}"}

    def judged(command: list[str]) -> tuple[str, str]:
        word, said = result(piglit, environment, command)
        if word == "fail" and result(piglit, elsewhere, command)[0] == "fail":
            return word, f"on llvmpipe too: {said}"
        return word, said

    chosen = list(tests(piglit))
    with ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda test: judged(test[1]), bar(chosen, "piglit"))
        return {name: result for (name, _), result in zip(chosen, results)}


def report(results: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the stored report: the number of tests with each result, and those that neither pass nor are skipped."""
    others = {}
    for name, (word, said) in sorted(results.items()):
        if word not in ("pass", "skip"):
            reason = next((reason for pattern, reason in REASONS.items() if re.search(pattern, name)), "")
            others[name] = [word, said, reason] if word == "fail" else [word, said]
    return {"results": dict(sorted(Counter(result[0] for result in results.values()).items())), "others": others}


def main() -> int:
    """Run, compare and, if requested, store; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--write", action="store_true", help="store the results")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where piglit's package is unpacked")
    args = parser.parse_args()
    try:
        made = report(run(args.folder or unpacked(), args.jobs))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(json.dumps(made["results"]))
    before = json.loads(STORED.read_text("utf-8")) if STORED.is_file() else {"others": {}}
    new = [name for name in made["others"] if name not in before["others"]]
    for name in new:
        print(f"{name}: {made['others'][name]}")
    if args.write:
        STORED.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
        return 0
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
