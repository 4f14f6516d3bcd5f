"""Fences: wait for the GPU to finish some commands, sleeping or polling, by EGL_KHR_fence_sync."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from glsl_infer.errors import RunError
from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.context import Context
from glsl_infer.support.closing import Closing

EXTENSION, GL_EXTENSION = "EGL_KHR_fence_sync", "GL_OES_EGL_sync"

_SYNC_FENCE, _FOREVER = 0x30F9, 0xFFFFFFFFFFFFFFFF
_TIMEOUT_EXPIRED, _CONDITION_SATISFIED = 0x30F5, 0x30F6

_SIGNATURES: dict[str, Any] = {
    "eglClientWaitSyncKHR": ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_uint64),
    "eglCreateSyncKHR": ctypes.CFUNCTYPE(c_void_p, c_void_p, c_uint, POINTER(c_int)),
    "eglDestroySyncKHR": ctypes.CFUNCTYPE(c_uint, c_void_p, c_void_p),
}


def available(context: Context) -> bool:
    """Return whether a context supports fences; a GLX context does not."""
    context.make_current()
    return (
        egl.current() is not None
        and EXTENSION in egl.display_extensions()
        and GL_EXTENSION in context.gl.text(GL.GL_EXTENSIONS).split()
    )


class Fence(Closing):
    """A fence after all commands submitted so far. It needs ``available``, and a flush after its creation."""

    def __init__(self) -> None:
        self._display = egl.current_display()
        self._handle = _function("eglCreateSyncKHR")(self._display, _SYNC_FENCE, None)
        if not self._handle:
            raise RunError("EGL cannot make a fence; the graphics driver may be out of memory")

    def passed(self) -> bool:
        """Return at once whether the GPU has finished the commands."""
        return self._wait(0)

    def sleep(self) -> None:
        """Wait without using the CPU, which takes the least power."""
        self._wait(_FOREVER)

    def spin(self) -> None:
        """Wait by polling, which has the least latency and uses a CPU core."""
        while not self._wait(0):
            pass

    def close(self) -> None:
        """Delete the fence. Further calls have no effect."""
        if self._handle:
            _function("eglDestroySyncKHR")(self._display, self._handle)
        self._handle = None

    def _wait(self, nanoseconds: int) -> bool:
        if not self._handle:
            return True
        state = _function("eglClientWaitSyncKHR")(self._display, self._handle, 0, nanoseconds)
        if state not in (_CONDITION_SATISFIED, _TIMEOUT_EXPIRED):
            raise RunError("EGL cannot wait for the GPU; its driver may have been reset: start again")
        return bool(state == _CONDITION_SATISFIED)


@cache
def _function(name: str) -> Any:
    return egl.extension_function(name, _SIGNATURES[name])
