"""Parallel shader compilation by the driver: GL_KHR_parallel_shader_compile.

NVIDIA's driver compiles in the calling thread until an application sets the number of compiler threads. With any
number, these threads do half of the work.
"""

from __future__ import annotations

import ctypes

from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.api import Api

EXTENSION = "GL_KHR_parallel_shader_compile"

DRIVER_DEFAULT = 0xFFFFFFFF
"""Value by which the extension leaves the number of threads to the driver."""

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_uint)

_configured = set[str]()
"""GL_VENDOR of the drivers configured in this process."""


def allow(gl: Api) -> bool:
    """Enable compiler threads in the driver of the current context; return whether it supports the extension.

    It is done once for each process, because NVIDIA's driver restarts its threads at each call, which takes 0.2 s.
    """
    vendor = gl.text(GL.GL_VENDOR)
    # In a GLX context, extension functions come from another loader.
    if EXTENSION not in gl.text(GL.GL_EXTENSIONS).split() or egl.current() is None:
        return False
    if vendor not in _configured:
        _configured.add(vendor)
        egl.extension_function("glMaxShaderCompilerThreadsKHR", _SIGNATURE)(DRIVER_DEFAULT)
    return True
