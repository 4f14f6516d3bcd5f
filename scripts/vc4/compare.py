#!/usr/bin/env python3
"""Benefit of each step of "The code the compiler wants", on Mesa's own VideoCore IV compiler.

    python scripts/vc4/compare.py          # the table of videocore-shaders.md, a minute on two CPU cores
    python scripts/vc4/compare.py --json   # the numbers, by step and kind of layer

The driver is found as by ``glsl-infer vc4``. X22 gets random weights and is lowered as in an export, first without any
of the steps in this table, then with one more step in each row. Each program is compiled, and weighted by the pixels it
draws in a frame.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint, c_void_p
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from accuracy_sections.table import table
from x22 import x22

from glsl_infer.cli.progress import bar
from glsl_infer.compiler import lower, optimize
from glsl_infer.compiler.ranges import prepare
from glsl_infer.errors import ContextError, GlslInferError, RunError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import egl_library
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.lowering import immediates, taps
from glsl_infer.lowering.bindings import Binding
from glsl_infer.program import PRELUDE, CompiledNetwork
from glsl_infer.runtime.drivers import LATE_FETCH
from glsl_infer.tools.videocore import driver

STEPS = (
    "as a shader is first written",
    "activation: a line in the weights, no outer clamp",
    "no immediates",
    "fetches wait for the sum",
    "coordinates shared",
    "some products behind the next fetch",
)
KINDS = {
    "5x5 / 2, RGB": "b0-conv",
    "1x1, 8 slices": "-pw",
    "3x3, 1 slice + residual": "-dw",
    "3x3, 2 slices": "-scale|b6-conv",
}
"""The convolutions of X22, with the suffixes of their layers' names."""

SIZE, CLASSES = 385, 120
_REPORT = re.compile(r"MESA_SHADER_FRAGMENT shader: (\d+) inst, (\d+) threads, .* (\d+) estimated-cycles")
_CALLBACK = CFUNCTYPE(None, c_uint, c_uint, c_uint, c_uint, c_int, c_char_p, c_void_p)


class Compiled(NamedTuple):
    """The driver's report on one fragment shader."""

    instructions: int
    threads: int
    cycles: int


@contextmanager
def left_out(step: int) -> Iterator[None]:
    """Disable all steps after ``step`` in the engine."""
    with ExitStack() as stack:
        if step < 1:
            kept = tuple(step for step in optimize.STEPS if step is not optimize.sigmoids_as_pieces)
            stack.enter_context(patch.object(optimize, "STEPS", kept))
        if step < 2:
            stack.enter_context(patch.object(immediates, "bound", float))
            stack.enter_context(patch.object(immediates, "factor", float))
        if step < 4:
            alike = lambda binding, role, axis: tuple(range(binding.count(role)))  # noqa: E731
            stack.enter_context(patch.object(Binding, "alike", alike))
        if step < 5:
            stack.enter_context(patch.object(taps, "AFTER_NEXT_FETCH", {}))
        yield


class Compiler:
    """Compiles fragment shaders on the vc4 driver, and collects its reports.

    Raises:
        ContextError: the driver is another.
    """

    def __init__(self, context: Context) -> None:
        self._gl = context.gl
        if "VC4" not in self._gl.text(GL.GL_RENDERER):
            raise ContextError(f"the OpenGL driver is '{self._gl.text(GL.GL_RENDERER)}'", "start this without --here")
        self._found: list[Compiled] = []
        self._callback = _CALLBACK(self._hear)  # a reference, because the driver has only its address
        _function("glDebugMessageCallbackKHR", _CALLBACK, c_void_p)(self._callback, None)
        for what in (0x92E0, 0x8242):  # GL_DEBUG_OUTPUT, GL_DEBUG_OUTPUT_SYNCHRONOUS
            _function("glEnable", c_uint)(what)
        self._objects = Objects(self._gl)
        self._objects.fixed_state()
        self._gl.BindFramebuffer(GL.GL_FRAMEBUFFER, self._objects.framebuffer(self._objects.texture(64, 64)))
        self._gl.Viewport(0, 0, 64, 64)
        for unit in range(8):
            self._gl.ActiveTexture(GL.GL_TEXTURE0 + unit)
            self._gl.BindTexture(GL.GL_TEXTURE_2D, self._objects.texture(64, 64))
        self._objects.buffer(np.zeros(64, "<f4").tobytes())
        for location in range(8):
            self._gl.VertexAttribPointer(location, 4, GL.GL_FLOAT, 0, 0, None)
            self._gl.EnableVertexAttribArray(location)

    def compile(self, vertex: bytes, fragment: bytes, name: str) -> Compiled:
        """Return the report of a fragment shader.

        Raises:
            RunError: the driver sent no report, because it has too few registers.
        """
        attributes = ["position", *(f"corner{index}" for index in range(7))]
        self._gl.UseProgram(self._objects.program(vertex, fragment, attributes, name))
        self._found.clear()
        self._gl.DrawArrays(GL.GL_TRIANGLES, 0, 3)
        if not self._found:
            raise RunError(f"{name}: not compiled")
        return self._found[-1]

    def close(self) -> None:
        """Delete all objects."""
        self._objects.close()

    def _hear(self, source: int, kind: int, name: int, severity: int, length: int, text: bytes, user: int) -> None:
        report = _REPORT.search(text.decode())
        if report:
            self._found.append(Compiled(*map(int, report.groups())))


def _function(name: str, *arguments: Any) -> Any:
    return CFUNCTYPE(None, *arguments)(egl_library().eglGetProcAddress(name.encode()))


def measure() -> dict[str, Any]:
    """Return the values of the table, measured on the vc4 driver: {step: {weights mode: {kind of layer: numbers}}}."""
    numbers: dict[str, Any] = {}
    with Context() as context:
        compiler = Compiler(context)
        for step, mode in bar([(k, mode) for k in range(len(STEPS)) for mode in ("uniform", "baked")], "steps"):
            with left_out(step):
                graph = prepare(optimize.optimize(x22(SIZE, CLASSES)), []).graph
                program = lower.to_program(graph, weights=mode)
            lines = LATE_FETCH.encode() if step >= 3 else b""
            numbers.setdefault(STEPS[step], {})[mode] = summed(program, compiler, lines)
        compiler.close()
    return numbers


def summed(program: CompiledNetwork, compiler: Compiler, lines: bytes) -> dict[str, Any]:
    """Return instructions, cycles and threads of each kind of convolution, and the total of a frame.

    Programs that differ only in constants are compiled once: all 1,123 baked programs would take a minute.
    """
    reports: dict[Any, Compiled] = {}
    rows: dict[str, list[tuple[Compiled, int]]] = {kind: [] for kind in KINDS}
    total = 0
    for drawn in program.passes:
        made = next(entry for entry in program.programs if entry.name == drawn.program)
        fragment = program.members[made.fragment]
        key = re.sub(rb"-?\d+\.\d+(e-?\d+)?", b"#", fragment)
        if key not in reports:
            source = program.members[PRELUDE] + lines + fragment
            reports[key] = compiler.compile(program.members[made.vertex], source, made.name)
        pixels = sum(quad.width * quad.height for quad in drawn.quads)
        total += reports[key].instructions * pixels
        for kind, ending in KINDS.items():
            if re.search(f"({ending})$", drawn.layer):
                rows[kind].append((reports[key], pixels))
    return {
        "total": total,
        "kinds": {
            kind: {
                "instructions": sum(report.instructions * n for report, n in members) / sum(n for _, n in members),
                "most_instructions": max(report.instructions for report, _ in members),
                "cycles": sum(report.cycles * n for report, n in members) / sum(n for _, n in members),
                "most_cycles": max(report.cycles for report, _ in members),
                "threads": min(report.threads for report, _ in members),
            }
            for kind, members in rows.items()
        },
    }


def page(numbers: dict[str, Any]) -> str:
    """Return the table: instructions / estimated cycles of a pass by kind, and of the frame in both weights modes."""
    rows = []
    for number, (step, modes) in enumerate(numbers.items()):
        kinds = modes["uniform"]["kinds"].values()
        cells = [f"{kind['instructions']:.0f} / {kind['cycles']:.0f}" for kind in kinds]
        totals = [f"{modes[mode]['total'] / 1e6:.1f}" for mode in ("uniform", "baked")]
        rows.append([("+ " if number else "") + step, *cells, *totals])
    return table(["", *KINDS, "frame, uniform", "frame, baked"], rows)


def main() -> int:
    """Measure in a process on the vc4 driver, and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description="What each step of the shaders is worth.", allow_abbrev=False)
    parser.add_argument("--driver", type=Path, metavar="DIR", help="made by scripts/vc4/build.sh; found by itself")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # this process uses that driver
    args = parser.parse_args()
    try:
        if args.here:
            print(json.dumps(measure()))
            return 0
        command = [sys.executable, __file__, "--here"]
        environment = driver.find(args.driver).environment()
        for told in ("VC4_SHIM_VALIDATE", "VC4_SHIM_LOG_SUBMIT"):
            del environment[told]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
        if done.returncode:
            raise RunError("the process on the vc4 driver failed; its message is above")
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    numbers = json.loads(done.stdout)
    print(json.dumps(numbers, indent=1) if args.json else page(numbers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
