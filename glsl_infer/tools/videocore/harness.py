"""Draw a bundle on the vc4 driver and print a transcript of the driver's messages, which ``transcript`` reads.

The lines ``@driver``, ``@draw``, ``@message`` and ``@frame`` mark the driver's name, each pass, a message of the driver
and the complete frame after the passes. The module is a separate process, started by ``measure``, because it uses
another OpenGL driver.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint, c_void_p
from typing import Any

from glsl_infer import bundle as bundles
from glsl_infer.bundle import Bundle, probe
from glsl_infer.errors import ContextError, RunError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import egl_library
from glsl_infer.gl.context import Context
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.isolated_run import enclose
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import exit_code_of
from glsl_infer.tools.videocore.driver import LIBRARIES_HINT

_DEBUG_OUTPUT, _DEBUG_OUTPUT_SYNCHRONOUS = 0x92E0, 0x8242
_CALLBACK = CFUNCTYPE(None, c_uint, c_uint, c_uint, c_uint, c_int, c_char_p, c_void_p)

DRIVER = "VC4"
"""First characters of the driver's GL_RENDERER."""


class DebugMessageWriter:
    """Writer of the driver's name and its KHR_debug messages into the transcript.

    Raises:
        ContextError: the driver is not vc4.
    """

    def __init__(self, context: Context) -> None:
        renderer, version = (context.gl.text(name) for name in (GL.GL_RENDERER, GL.GL_VERSION))
        if not renderer.startswith(DRIVER):
            raise ContextError(f"the OpenGL driver is '{renderer}' where Mesa's vc4 is needed", LIBRARIES_HINT)
        write(f"@driver {renderer}, {version}")
        self._callback = _CALLBACK(self._write_message)  # keeps a reference, because the driver has only its address
        _function("glDebugMessageCallbackKHR", _CALLBACK, c_void_p)(self._callback, None)
        for capability in (_DEBUG_OUTPUT, _DEBUG_OUTPUT_SYNCHRONOUS):
            _function("glEnable", c_uint)(capability)

    def _write_message(
        self, source: int, kind: int, name: int, severity: int, length: int, text: bytes, user: int
    ) -> None:
        write(f"@message {text.decode('utf-8', 'replace')}")


class DrawRecorder:
    """Writer of draws and KHR_debug messages into the transcript.

    It flushes after each layer's passes, so the layer's jobs are submitted before the next layer's begin.

    Raises:
        ContextError: the driver is not vc4.
    """

    def __init__(self, context: Context, bundle: Bundle) -> None:
        self._gl, self._passes = context.gl, bundle.manifest.passes
        self._messages = DebugMessageWriter(context)
        self._flush = _function("glFlush")
        self._draw = self._gl.prepared.DrawArrays
        self.next_pass = 0
        self.recording = True

    @contextlib.contextmanager
    def redirected(self) -> Iterator[None]:
        """Redirect draws to ``draw``; sessions created meanwhile record it in their frames."""
        vars(self._gl.prepared)["DrawArrays"] = self.draw
        try:
            yield
        finally:
            vars(self._gl.prepared)["DrawArrays"] = self._draw

    def draw(self, *arguments: int) -> None:
        """Draw the next pass, mark it, and flush after the last of a layer; only draw if ``recording`` is false."""
        if not self.recording:
            self._draw(*arguments)
            return
        index, self.next_pass = self.next_pass, self.next_pass + 1
        if index >= len(self._passes):
            raise RunError(f"a frame draws more than its {len(self._passes)} passes")
        write(f"@draw {index}")
        self._draw(*arguments)
        next_layer = self._passes[index + 1].layer if index + 1 < len(self._passes) else None
        if next_layer != self._passes[index].layer:
            self._flush()


def draw(bundle: Bundle) -> None:
    """Draw every pass once, then a complete frame like a runner, and write the transcript to file descriptor 2.

    Raises:
        ContextError: this process does not use the vc4 driver.
        ShaderError: the driver refuses a shader; the message names the layer.
        RunError: a frame draws more or fewer times than it has passes.
    """
    inputs = probe.inputs(bundle.manifest.inputs)
    with Context("surfaceless") as context:
        # Nothing is drawn here, so rounding cannot be measured. Assume stores round to nearest and sums are truncated.
        vars(driver_of(context)).update(rounds_stores=False, nearest_sums=False)
        recorder = DrawRecorder(context, bundle)
        with recorder.redirected(), Session(bundle, context=context) as session:
            session.run(inputs)
            if recorder.next_pass != len(bundle.manifest.passes):
                raise RunError(f"a frame draws {recorder.next_pass} times, it has {len(bundle.manifest.passes)} passes")
            recorder.recording = False
            write("@frame")
            session.run(inputs)


@contextlib.contextmanager
def stderr_to_stdout() -> Iterator[None]:
    """Redirect file descriptor 2 to standard output, including messages that libraries print."""
    sys.stderr.flush()
    saved = os.dup(2)
    os.dup2(1, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def write(line: str) -> None:
    """Write a line of the transcript."""
    os.write(2, f"{line}\n".encode())


def _function(name: str, *arguments: Any) -> Any:
    address = egl_library().eglGetProcAddress(name.encode())
    if not address:
        raise ContextError(f"the driver has no {name}")
    return CFUNCTYPE(None, *arguments)(address)


def main() -> int:
    """Draw the bundle named by the first argument and print the transcript; return the exit code."""
    return exit_code_of(_draw_file)


def _draw_file() -> None:
    bundle = bundles.read(sys.argv[1])
    enclose()
    with stderr_to_stdout():
        draw(bundle)


if __name__ == "__main__":
    sys.exit(main())
