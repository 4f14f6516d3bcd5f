"""GPU time of parts of a frame: EXT_disjoint_timer_query."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_int, c_uint, c_uint64
from typing import Any

from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.context import Context
from glsl_infer.support.closing import Closing

EXTENSION = "GL_EXT_disjoint_timer_query"

_TIME_ELAPSED, _QUERY_COUNTER_BITS, _QUERY_RESULT, _GPU_DISJOINT = 0x88BF, 0x8864, 0x8866, 0x8FBB

_UINTS = POINTER(c_uint)
_SIGNATURES: dict[str, Any] = {
    "BeginQuery": ctypes.CFUNCTYPE(None, c_uint, c_uint),
    "DeleteQueries": ctypes.CFUNCTYPE(None, c_int, _UINTS),
    "EndQuery": ctypes.CFUNCTYPE(None, c_uint),
    "GenQueries": ctypes.CFUNCTYPE(None, c_int, _UINTS),
    "GetQueryObjectui64v": ctypes.CFUNCTYPE(None, c_uint, c_uint, POINTER(c_uint64)),
    "GetQueryiv": ctypes.CFUNCTYPE(None, c_uint, c_uint, POINTER(c_int)),
}


def available(context: Context) -> bool:
    """Return whether the driver measures elapsed time. Some have the extension, but a clock of 0 bits."""
    context.make_current()
    # In a GLX context, extension functions come from another loader, which is not supported.
    if EXTENSION not in context.gl.text(GL.GL_EXTENSIONS).split() or egl.current() is None:
        return False
    bits = c_int()
    _function("GetQueryiv")(_TIME_ELAPSED, _QUERY_COUNTER_BITS, byref(bits))
    return bits.value > 0


class TimerQueries(Closing):
    """Timer queries, one for each part of a frame. The context must be current and ``available``."""

    def __init__(self, context: Context, count: int) -> None:
        self._gl = context.gl
        self._names = (c_uint * count)()
        functions = {name: _function(name) for name in _SIGNATURES}
        self._begin, self._end = functions["BeginQuery"], functions["EndQuery"]
        self._result, self._delete = functions["GetQueryObjectui64v"], functions["DeleteQueries"]
        functions["GenQueries"](count, self._names)
        self._gl.integer(_GPU_DISJOINT)  # the query resets the flag

    def begin(self, index: int) -> None:
        """Begin the measurement of part ``index``."""
        self._begin(_TIME_ELAPSED, self._names[index])

    def end(self) -> None:
        """End the current measurement."""
        self._end(_TIME_ELAPSED)

    def seconds(self) -> Sequence[float] | None:
        """Wait for the results and return the seconds of each part; None if the clock was interrupted meanwhile."""
        elapsed, times = c_uint64(), []
        for name in self._names:
            self._result(name, _QUERY_RESULT, byref(elapsed))
            times.append(elapsed.value * 1e-9)
        return None if self._gl.integer(_GPU_DISJOINT) else times

    def close(self) -> None:
        """Delete the queries."""
        if self._names:
            self._delete(len(self._names), self._names)
        self._names = (c_uint * 0)()


def _function(name: str) -> Any:
    return egl.extension_function(f"gl{name}EXT", _SIGNATURES[name])
