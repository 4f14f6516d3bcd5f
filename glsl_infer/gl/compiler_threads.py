"""Shaders compiled side by side: GL_KHR_parallel_shader_compile, for drivers that have threads and wait to be told.

NVIDIA's driver compiles in the thread that asks until it is told how many others it may take. Then half of the work is
done by them, whatever the number.
"""

from __future__ import annotations

import ctypes

from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.api import Api

EXTENSION = "GL_KHR_parallel_shader_compile"

AS_MANY_AS_IT_LIKES = 0xFFFFFFFF
"""By which the extension leaves the number to the driver."""

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_uint)

_told = set[str]()
"""GL_VENDOR of those drivers that were told in this process."""


def allow(gl: Api) -> bool:
    """Let the driver of the current context compile in threads of its own, and return whether it knows how.

    A driver is told once in a process: NVIDIA's ends the threads that it has and begins others each time, which takes
    it 0.2 s.
    """
    vendor = gl.text(GL.GL_VENDOR)
    # A context of GLX's has functions of another loader.
    if EXTENSION not in gl.text(GL.GL_EXTENSIONS).split() or egl.current() is None:
        return False
    if vendor not in _told:
        _told.add(vendor)
        egl.extension_function("glMaxShaderCompilerThreadsKHR", _SIGNATURE)(AS_MANY_AS_IT_LIKES)
    return True
