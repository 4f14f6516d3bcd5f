#!/usr/bin/env python3
"""The VideoCore IV side of scripts/activation_study.py: what Mesa's compiler makes of a bundle's shaders.

    VC4_DEBUG=shaderdb VC4/run python scripts/activation_vc4.py BUNDLE

A process of its own, because it has to see another OpenGL driver than everything else. Prints as JSON, for each
program of the bundle: instructions and threads of its fragment shader, as the driver reports them.
"""

from __future__ import annotations

import json
import re
import sys
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint, c_void_p
from pathlib import Path
from typing import Any

from glsl_infer import bundle as bundles
from glsl_infer import probe
from glsl_infer.errors import ContextError, GlslInferError, RunError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import egl_library
from glsl_infer.gl.context import Context
from glsl_infer.session import Session

_DEBUG_OUTPUT, _DEBUG_OUTPUT_SYNCHRONOUS = 0x92E0, 0x8242
_CALLBACK = CFUNCTYPE(None, c_uint, c_uint, c_uint, c_uint, c_int, c_char_p, c_void_p)
_REPORT = re.compile(r"MESA_SHADER_FRAGMENT shader: (\d+) inst, (\d+) threads")


class Reports:
    """What the driver says of every fragment shader that it compiles, in order: (instructions, threads).

    Raises:
        ContextError: the driver is another than vc4, or does not say anything.
    """

    def __init__(self, context: Context) -> None:
        renderer = context.gl.text(GL.GL_RENDERER)
        if "VC4" not in renderer:
            raise ContextError(f"the OpenGL driver is '{renderer}'", "start this through a runner of Mesa's vc4 driver")
        self.found: list[tuple[int, int]] = []
        self._callback = _CALLBACK(self._hear)  # kept: the driver has only its address
        _function("glDebugMessageCallbackKHR", _CALLBACK, c_void_p)(self._callback, None)
        for what in (_DEBUG_OUTPUT, _DEBUG_OUTPUT_SYNCHRONOUS):
            _function("glEnable", c_uint)(what)

    def _hear(self, source: int, kind: int, name: int, severity: int, length: int, text: bytes, user: int) -> None:
        report = _REPORT.match(text.decode())
        if report:
            self.found.append((int(report[1]), int(report[2])))


def _function(name: str, *arguments: Any) -> Any:
    address = egl_library().eglGetProcAddress(name.encode())
    if not address:
        raise ContextError(f"the driver has no {name}")
    return CFUNCTYPE(None, *arguments)(address)


def measure(path: Path) -> dict[str, tuple[int, int]]:
    """Return (instructions, threads) of every program's fragment shader, by the program's name.

    Raises:
        RunError: some were not compiled, which is how this driver says that it has too few registers.
    """
    made = bundles.read(path)
    used = list(dict.fromkeys(one.program for one in made.manifest.passes))
    with Context() as context:
        # The driver draws nothing here, so how stores round cannot be measured; they are taken to round to nearest.
        vars(context)["store_threshold"] = 0.5
        reports = Reports(context)
        with Session(made, context=context) as session:
            reports.found.clear()  # a first compilation, for no particular target
            session.run(probe.picture(made.manifest.input.size))
    if len(reports.found) != len(used):
        raise RunError(f"{path.name}: {len(used)} programs were drawn with, {len(reports.found)} compiled")
    return dict(zip(used, reports.found))


def main() -> int:
    """Measure and print; return the exit code."""
    try:
        print(json.dumps(measure(Path(sys.argv[1]))))
    except GlslInferError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
