#!/usr/bin/env python3
"""Compile and draw the mutated shaders of `shaders.py` on Chromium's software GPU (ANGLE on SwiftShader).

    python scripts/bench/reliability/shaders_browser.py [--shaders 10000] [--seconds 900] [--seed 0] [--keep DIR]

WebGL compiles and draws the shaders that the format's reader accepts. A lost context (its process crashed), a shader
that takes more than 30 s, or a process of the browser with more than 1 GiB is a finding. The exit code is 1 after
findings. Needs Chromium (`scripts/system-packages --test`).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/web"), str(Path(__file__).resolve().parent)]

from chromium import Browser, Page, PageError  # noqa: E402

import shaders  # noqa: E402
from glsl_infer.program.templates import template, vertex_shader  # noqa: E402

BATCH, EACH, MEMORY = 20, 30.0, 1 << 30

OPENED = """(() => {
    const canvas = document.createElement("canvas");
    const gl = canvas.getContext("webgl", {antialias: false, depth: false});
    if (!gl) throw new Error("no WebGL");
    const texture = (bytes) => {
        const made = gl.createTexture();
        gl.bindTexture(gl.TEXTURE_2D, made);
        for (const [name, value] of [["MIN_FILTER", gl.NEAREST], ["MAG_FILTER", gl.NEAREST],
                                     ["WRAP_S", gl.CLAMP_TO_EDGE], ["WRAP_T", gl.CLAMP_TO_EDGE]])
            gl.texParameteri(gl.TEXTURE_2D, gl["TEXTURE_" + name], value);
        gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 8, 8, 0, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
        return made;
    };
    const source = texture(Uint8Array.from({length: 256}, (_, k) => (k * 37) % 256)), target = texture(null);
    const framebuffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, target, 0);
    gl.viewport(0, 0, 8, 8);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 3, -1, -1, 3]), gl.STATIC_DRAW);
    window.drawn = ({vertex, fragment, varyings, units}) => {
        const program = gl.createProgram(), parts = [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]];
        const made = parts.map(([kind, text]) => {
            const shader = gl.createShader(kind);
            gl.shaderSource(shader, text);
            gl.compileShader(shader);
            gl.attachShader(program, shader);
            return shader;
        });
        for (let k = 0; k <= varyings; k++)
            gl.bindAttribLocation(program, k, k ? `corner${k - 1}` : "position");
        gl.linkProgram(program);
        const linked = gl.getProgramParameter(program, gl.LINK_STATUS);
        if (linked) {
            gl.useProgram(program);
            for (let unit = 0; unit < units; unit++) {
                gl.activeTexture(gl.TEXTURE0 + unit);
                gl.bindTexture(gl.TEXTURE_2D, source);
            }
            for (let k = 0; k <= varyings; k++) {
                gl.enableVertexAttribArray(k);
                gl.vertexAttribPointer(k, 2, gl.FLOAT, false, 0, 0);
            }
            gl.drawArrays(gl.TRIANGLES, 0, 3);
            gl.readPixels(0, 0, 8, 8, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(256));
        }
        gl.useProgram(null);
        made.forEach((shader) => gl.deleteShader(shader));
        gl.deleteProgram(program);
        return gl.isContextLost() ? "lost" : linked ? "drawn" : "refused by the driver";
    };
    const info = gl.getExtension("WEBGL_debug_renderer_info");
    return gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
})()"""

DRAW = """(jobs) => jobs.map((job) => {
    const started = performance.now(), verdict = window.drawn(job);
    return [verdict, (performance.now() - started) / 1000];
})"""


def job(text: str, shader: shaders.Shader) -> dict[str, Any]:
    """Return the page's description of a shader."""
    varyings = 1 + max((int(number) for number in re.findall(r"varying vec4 coord(\d)", text)), default=0)
    return {
        "vertex": vertex_shader(varyings),
        "fragment": template("prelude.glsl") + text,
        "varyings": varyings,
        "units": sum(kind == "sampler2D" for kind in shader.uniforms.values()),
    }


def most_memory(root: int) -> int:
    """Return the bytes of the largest process below ``root``, itself included."""
    parents, largest = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[1]
            )
            largest[int(folder.name)] = int((folder / "statm").read_text("ascii").split()[1]) << 12
        except (OSError, ValueError, IndexError):
            continue
    mine, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in mine} - mine
        mine, grown = mine | more, bool(more)
    return max((largest.get(pid, 0) for pid in mine), default=0)


def watch(count: int, seconds: float, seed: int, keep: Path) -> dict[str, Any]:
    """Draw ``count`` shaders in browsers, or fewer if the time is over; return the counts and findings."""
    end, number = time.monotonic() + seconds, 0
    made: dict[str, Any] = {"driver": "", "memory": 0, "slowest_s": 0.0, "findings": []}
    verdicts, texts = Counter[str](), shaders.sources()

    def met() -> int:
        return sum(verdicts.values()) - verdicts["refused"]

    while met() < count and time.monotonic() < end and len(made["findings"]) < 20:
        with Browser(["--disable-gpu-watchdog"], patience=BATCH * EACH) as browser:
            page = browser.page()
            made["driver"] = page.evaluate(OPENED)
            size = BATCH
            while met() < count and time.monotonic() < end:
                batch: list[tuple[int, str, Any]] = []
                while len(batch) < min(size, count - met()):
                    text, shader = shaders.mutant(texts, seed, number)
                    if shader is None:
                        verdicts["refused"] += 1
                    else:
                        batch.append((number, text, shader))
                    number += 1
                how = _drawn(page, batch, verdicts, made)
                made["memory"] = max(made["memory"], most_memory(browser._process.pid))
                if made["memory"] > MEMORY:
                    how = how or f"a process took {made['memory'] >> 20} MiB"
                if how:
                    keep.mkdir(parents=True, exist_ok=True)
                    for place, text, _ in batch:
                        (keep / f"browser-{seed}-{place}.frag").write_text(text, "ascii")
                    made["findings"].append(f"shaders {batch[0][0]} to {batch[-1][0]}: {how}")
                    break
    return {**made, "verdicts": dict(verdicts), "files": met()}


def _drawn(page: Page, batch: list[tuple[int, str, Any]], verdicts: Counter[str], made: dict[str, Any]) -> str:
    """Draw a batch; return the problem, or an empty string."""
    try:
        said = page.evaluate(DRAW, [job(text, shader) for _, text, shader in batch])
    except PageError as error:
        return str(error)
    verdicts.update(verdict for verdict, _ in said)
    slowest = max(taken for _, taken in said)
    made["slowest_s"] = max(made["slowest_s"], round(slowest, 2))
    if any(verdict == "lost" for verdict, _ in said):
        return "the context was lost"
    return f"took {slowest:.0f} s" if slowest > EACH else ""


def main() -> int:
    """Watch and print; return the exit code."""
    parser = argparse.ArgumentParser(description="Let Chromium draw shaders that were changed.", allow_abbrev=False)
    parser.add_argument("--shaders", type=int, default=10_000, help="how many are given to the driver")
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("shader-findings"))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    made = watch(args.shaders, args.seconds, args.seed, args.keep)
    if args.json:
        print(json.dumps(made))
    else:
        print(f"{made['driver']}: {made['files']} shaders met the driver: {made['verdicts']}")
        print(f"slowest {made['slowest_s']} s, at most {made['memory'] >> 20} MiB in a process")
        print(f"{len(made['findings'])} findings", *made["findings"], sep="\n")
    return 1 if made["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
