"""Shaders compiled side by side: GL_KHR_parallel_shader_compile, for drivers that have threads and wait to be told.

NVIDIA's driver compiles in the thread that asks until it is told how many others it may take; Mesa's needs no telling.
"""

from __future__ import annotations

import ctypes

from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.context import Context

EXTENSION = "GL_KHR_parallel_shader_compile"

AS_MANY_AS_IT_LIKES = 0xFFFFFFFF
"""By which the extension leaves the number to the driver."""


def allow(context: Context) -> bool:
    """Let the driver of the current context compile in threads of its own, and return whether it knows how."""
    # A context of GLX's has functions of another loader.
    if EXTENSION not in context.gl.text(GL.GL_EXTENSIONS).split() or egl.current() is None:
        return False
    egl.extension_function("glMaxShaderCompilerThreadsKHR", _SIGNATURE)(AS_MANY_AS_IT_LIKES)
    return True


_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_uint)
