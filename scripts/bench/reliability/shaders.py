#!/usr/bin/env python3
"""Compile and draw maliciously changed shaders on a driver, as far as the format's GLSL allows them.

    python scripts/bench/reliability/shaders.py [--random] [--shaders 10000] [--seconds 600] [--seed 0] [--keep DIR]
        [--json]

Tokens and lines of the fragment shaders in models/ and tests/conformance/ are changed (``mutations.glsl_tokens``);
with --random, shaders are those of ``shader_values.py``. Shaders refused by the reader are counted; the others are
compiled with each set of device lines and drawn in a monitored process. It is a finding if the process ends by a
signal, or takes more than 1 GiB of memory or 30 s of CPU time for a shader. LIBGL_ALWAYS_SOFTWARE=1
GALLIUM_DRIVER=llvmpipe (or softpipe) selects the driver. The exit code is 1 after findings. Linux only; needs the
checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

import numpy as np  # noqa: E402
from glsl_mutations import glsl_tokens  # noqa: E402
from shader_values import RandomShader  # noqa: E402

from glsl_infer.bundle.shader_check import Shader, parse  # noqa: E402
from glsl_infer.errors import BundleError, GlslInferError, RunError, ShaderError  # noqa: E402
from glsl_infer.gl import constants as GL  # noqa: E402
from glsl_infer.gl.context import Context  # noqa: E402
from glsl_infer.gl.objects import Objects  # noqa: E402
from glsl_infer.program.templates import template, vertex_shader  # noqa: E402

EACH, MEMORY = 30.0, 1 << 30
LINES = ("", "#define ROUND_STORES\n#define ROLLED_FETCHES\n")
LATE_LINES = ("#define ROUND_STORES\n#define LATE_FETCH\n", "#define LATE_FETCH\n#define NEAREST_SUMS\n")
"""Device lines that a runner adds only for drivers of VideoCore IV."""
SIDE = 8


def sources(is_random: bool = False) -> list[str]:
    """Return the fragment shaders of all bundles in the checkout, without comments; none for random shaders."""
    texts = set[str]()
    if is_random:
        return []
    for path in sorted([*(ROOT / "models").glob("*.glslnn"), *(ROOT / "tests/conformance").glob("*.glslnn")]):
        if zipfile.is_zipfile(path) and not path.name.startswith("bad-"):
            with zipfile.ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.endswith(".frag")]
                texts |= {re.sub(r" *//[^\n]*", "", archive.read(name).decode("ascii")) for name in names}
    return sorted(texts)


def mutant(texts: Sequence[str], seed: int, index: int) -> tuple[str, Shader | None]:
    """Return a changed or random shader, and its parsed form; None if the reader refuses it."""
    rng = Random(str((seed, index)))
    text = glsl_tokens(rng, rng.choice(texts), texts) if texts else RandomShader((seed, index)).text()
    try:
        return text, parse("mutant", text)
    except BundleError:
        return text, None


def work(seed: int, first: int, last: int, is_random: bool) -> None:
    """Compile and draw the shaders from ``first`` on; print the number of each, and then its result."""
    texts = sources(is_random)
    with Context() as context, Objects(context.gl) as objects:
        print(json.dumps({"driver": context.gl.text(GL.GL_RENDERER)}), flush=True)
        objects.set_fixed_state()
        texture = objects.texture(SIDE, SIDE, np.random.default_rng(0).bytes(4 * SIDE * SIDE))
        framebuffer = objects.framebuffer(objects.texture(SIDE, SIDE))
        triangle = objects.buffer(np.array([-1, -1, 3, -1, -1, 3], "<f4").tobytes())
        for index in range(first, last):
            text, shader = mutant(texts, seed, index)
            if shader is None:
                print('{"verdict": "refused"}', flush=True)
                continue
            print(json.dumps({"number": index, "written": shader.written}), flush=True)
            verdict = "drawn"
            for lines in LATE_LINES if "VC4" in context.gl.text(GL.GL_RENDERER) else LINES:
                try:
                    _draw(context, text, lines, shader, texture, framebuffer, triangle)
                except ShaderError:
                    verdict = "refused by the driver"
            print(json.dumps({"verdict": verdict}), flush=True)


def _draw(
    context: Context, text: str, lines: str, shader: Shader, texture: int, framebuffer: int, triangle: int
) -> None:
    gl = context.gl
    fragment = (template("prelude.glsl") + lines + text).encode("ascii")
    varyings = 1 + max((int(digits) for digits in re.findall(r"varying vec4 coord(\d)", text)), default=0)
    with Objects(gl) as objects:
        names = ["position", *(f"corner{k}" for k in range(varyings))]
        program = objects.program(vertex_shader(varyings).encode("ascii"), fragment, names, "mutant")
        gl.UseProgram(program)
        gl.BindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        gl.Viewport(0, 0, SIDE, SIDE)
        for unit in range(len([kind for kind in shader.uniforms.values() if kind == "sampler2D"])):
            gl.ActiveTexture(GL.GL_TEXTURE0 + unit)
            gl.BindTexture(GL.GL_TEXTURE_2D, texture)
        gl.BindBuffer(GL.GL_ARRAY_BUFFER, triangle)
        for index in range(1 + varyings):
            gl.VertexAttribPointer(index, 2, GL.GL_FLOAT, 0, 0, None)
            gl.EnableVertexAttribArray(index)
        gl.DrawArrays(GL.GL_TRIANGLES, 0, 3)
        objects.read(SIDE, SIDE)


def watch(shaders: int, seconds: float, seed: int, keep: Path, is_random: bool = False) -> dict[str, Any]:
    """Draw ``shaders`` shaders in processes, or fewer if the time is over; return the counts and findings."""
    end = time.monotonic() + seconds
    report: dict[str, Any] = {"driver": "", "verdicts": {}, "slowest_s": 0.0, "memory": 0, "findings": []}
    texts, first = sources(is_random), 0
    while _count(report) < shaders and time.monotonic() < end and len(report["findings"]) < 20:
        command = [sys.executable, __file__, "--work", str(first), "--seed", str(seed), *["--random"] * is_random]
        with (
            tempfile.TemporaryFile("w+", errors="replace") as words,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=words, text=True) as process,
        ):
            first, how = _follow(process, report, first, shaders, end)
            process.kill()
            words.seek(0)
            last = words.read().strip()[-600:]
            if how and not report["driver"]:
                raise RunError(f"the process that draws did not start: {how}: {last}")
        if how:
            keep.mkdir(parents=True, exist_ok=True)
            file = keep / f"shader-{seed}-{first - 1}.frag"
            file.write_text(mutant(texts, seed, first - 1)[0], "ascii")
            report["findings"].append(f"{file}: {how}: {last}")
    return report


def _count(report: dict[str, Any]) -> int:
    return sum(count for name, count in report["verdicts"].items() if name != "refused")


def _follow(
    process: subprocess.Popen[str], report: dict[str, Any], first: int, shaders: int, end: float
) -> tuple[int, str]:
    """Read the lines of a process; return the number of the next shader, and the problem of the last."""
    import select

    assert process.stdout is not None
    started = 0.0
    while True:
        ready, _, _ = select.select([process.stdout], [], [], 0.2)
        memory = _resident(process.pid)
        report["memory"] = max(report["memory"], memory)
        if memory > MEMORY:
            return first + 1, f"took {memory >> 20} MiB of memory"
        if not ready:
            if started and _cpu(process.pid) - started > EACH:
                return first + 1, f"took more than {EACH:.0f} s of CPU time"
            continue
        line = process.stdout.readline()
        if not line:
            return first + 1, f"ended with exit code {process.wait()}"
        event = json.loads(line)
        if "driver" in event:
            report["driver"] = event["driver"]
        elif "number" in event:
            first, started = event["number"], _cpu(process.pid)
        else:
            first += 1
            report["verdicts"][event["verdict"]] = report["verdicts"].get(event["verdict"], 0) + 1
            if started:
                report["slowest_s"] = max(report["slowest_s"], round(_cpu(process.pid) - started, 2))
            started = 0.0
        if _count(report) >= shaders or time.monotonic() > end:
            return first, ""


def _cpu(pid: int) -> float:
    """Return the seconds of CPU time of a process, because elapsed time depends on other processes."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) << 12
    except (OSError, IndexError):
        return 0


def main() -> int:
    """Watch and print, or work; return the exit code."""
    parser = argparse.ArgumentParser(description="Let a driver draw shaders that were changed.", allow_abbrev=False)
    parser.add_argument("--random", action="store_true", help="random shaders, not changed ones")
    parser.add_argument("--shaders", type=int, default=10_000, help="how many are given to the driver")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("shader-findings"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        if args.work is not None:
            work(args.seed, args.work, 1 << 40, args.random)
            return 0
        report = watch(args.shaders, args.seconds, args.seed, args.keep, args.random)
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    if args.json:
        print(
            json.dumps({"what": f"shaders, {report['driver']}", "seed": args.seed, "files": _count(report), **report})
        )
        return 1 if report["findings"] else 0
    counts = ", ".join(f"{name} {count}" for name, count in sorted(report["verdicts"].items()))
    print(f"{report['driver']}: {_count(report)} shaders met the driver: {counts}")
    print(f"slowest {report['slowest_s']} s of CPU time, at most {report['memory'] >> 20} MiB of memory")
    print(f"{len(report['findings'])} findings", *report["findings"], sep="\n")
    return 1 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
