"""The OpenGL ES 2.0 calls that the engine makes, and nothing else.

PyOpenGL finds the library; the functions are called through ctypes, which costs a fraction of its checked wrappers and
touches no global state of the application. Without prototypes (``Api.prepared``) it costs a third of that again.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_float, c_int, c_uint, c_void_p
from functools import cache
from types import SimpleNamespace
from typing import Any

from glsl_infer.errors import ContextError, GlError, pip_install
from glsl_infer.gl import constants as GL

LIBRARIES_HINT = "on Debian, Ubuntu or Raspberry Pi OS: sudo apt install libegl1 libgles2 libgl1-mesa-dri"

_INTS, _UINTS, _FLOATS = POINTER(c_int), POINTER(c_uint), POINTER(c_float)

_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ActiveTexture": (None, (c_uint,)),
    "AttachShader": (None, (c_uint, c_uint)),
    "BindAttribLocation": (None, (c_uint, c_uint, c_char_p)),
    "BindBuffer": (None, (c_uint, c_uint)),
    "BindFramebuffer": (None, (c_uint, c_uint)),
    "BindTexture": (None, (c_uint, c_uint)),
    "BlendFunc": (None, (c_uint, c_uint)),
    "BufferData": (None, (c_uint, ctypes.c_ssize_t, c_void_p, c_uint)),
    "CheckFramebufferStatus": (c_uint, (c_uint,)),
    "Clear": (None, (c_uint,)),
    "ClearColor": (None, (c_float, c_float, c_float, c_float)),
    "CompileShader": (None, (c_uint,)),
    "CreateProgram": (c_uint, ()),
    "CreateShader": (c_uint, (c_uint,)),
    "DeleteBuffers": (None, (c_int, _UINTS)),
    "DeleteFramebuffers": (None, (c_int, _UINTS)),
    "DeleteProgram": (None, (c_uint,)),
    "DeleteShader": (None, (c_uint,)),
    "DeleteTextures": (None, (c_int, _UINTS)),
    "DetachShader": (None, (c_uint, c_uint)),
    "Disable": (None, (c_uint,)),
    "DrawArrays": (None, (c_uint, c_int, c_int)),
    "Enable": (None, (c_uint,)),
    "EnableVertexAttribArray": (None, (c_uint,)),
    "Finish": (None, ()),
    "Flush": (None, ()),
    "FramebufferTexture2D": (None, (c_uint, c_uint, c_uint, c_uint, c_int)),
    "GenBuffers": (None, (c_int, _UINTS)),
    "GenFramebuffers": (None, (c_int, _UINTS)),
    "GenTextures": (None, (c_int, _UINTS)),
    "GetError": (c_uint, ()),
    "GetIntegerv": (None, (c_uint, _INTS)),
    "GetProgramInfoLog": (None, (c_uint, c_int, _INTS, c_char_p)),
    "GetProgramiv": (None, (c_uint, c_uint, _INTS)),
    "GetShaderInfoLog": (None, (c_uint, c_int, _INTS, c_char_p)),
    "GetShaderPrecisionFormat": (None, (c_uint, c_uint, _INTS, _INTS)),
    "GetShaderiv": (None, (c_uint, c_uint, _INTS)),
    "GetString": (c_char_p, (c_uint,)),
    "GetUniformLocation": (c_int, (c_uint, c_char_p)),
    "IsBuffer": (ctypes.c_ubyte, (c_uint,)),
    "IsFramebuffer": (ctypes.c_ubyte, (c_uint,)),
    "IsProgram": (ctypes.c_ubyte, (c_uint,)),
    "IsShader": (ctypes.c_ubyte, (c_uint,)),
    "IsTexture": (ctypes.c_ubyte, (c_uint,)),
    "LinkProgram": (None, (c_uint,)),
    "PixelStorei": (None, (c_uint, c_int)),
    "ReadPixels": (None, (c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p)),
    "Scissor": (None, (c_int, c_int, c_int, c_int)),
    "ShaderSource": (None, (c_uint, c_int, POINTER(c_char_p), _INTS)),
    "TexImage2D": (None, (c_uint, c_int, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p)),
    "TexParameteri": (None, (c_uint, c_uint, c_int)),
    "TexSubImage2D": (None, (c_uint, c_int, c_int, c_int, c_int, c_int, c_uint, c_uint, c_void_p)),
    "Uniform1fv": (None, (c_int, c_int, _FLOATS)),
    "Uniform1i": (None, (c_int, c_int)),
    "Uniform2fv": (None, (c_int, c_int, _FLOATS)),
    "Uniform3fv": (None, (c_int, c_int, _FLOATS)),
    "Uniform4fv": (None, (c_int, c_int, _FLOATS)),
    "UseProgram": (None, (c_uint,)),
    "VertexAttribPointer": (None, (c_uint, c_int, c_uint, ctypes.c_ubyte, c_int, c_void_p)),
    "Viewport": (None, (c_int, c_int, c_int, c_int)),
}

_ERRORS = {
    getattr(GL, name): name
    for name in (
        "GL_INVALID_ENUM",
        "GL_INVALID_VALUE",
        "GL_INVALID_OPERATION",
        "GL_INVALID_FRAMEBUFFER_OPERATION",
        "GL_OUT_OF_MEMORY",
    )
}
_ERRORS[0x0507] = "GL_CONTEXT_LOST"  # of KHR_robustness: what drivers say after a reset


class Api:
    """The functions of the GL ES 2.0 library, without their ``gl`` prefix: ``api.Clear(mask)``.

    They act on whatever context is current in the calling thread. Each has its GL name as ``__name__``.

    Attributes:
        prepared: those that return nothing, without prototypes: for calls that are prepared once and made often. An int
            is passed as a C int and an array as its address; any other argument has to be a ctypes value already.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.prepared = SimpleNamespace()
        for name, (result, arguments) in _SIGNATURES.items():
            prototype = ctypes.CFUNCTYPE(result, *arguments)
            function: Any = prototype((f"gl{name}", library))
            function.__name__ = f"gl{name}"
            setattr(self, name, function)
            if result is None:
                function = library[f"gl{name}"]  # a new object each time, whose prototype nobody sets
                function.restype = None
                setattr(self.prepared, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"gl{name} is not in glsl_infer.gl.api._SIGNATURES")

    def check(self, where: str) -> None:
        """Raise GlError when the driver has recorded an error since the last call."""
        codes: list[str] = []
        while (code := self.GetError()) != 0 and len(codes) < 16:
            codes.append(_ERRORS.get(code, hex(code)))
        if codes:
            raise GlError(f"OpenGL reports {', '.join(dict.fromkeys(codes))} {where}")

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Count the calls that are made within the block as ``api.Name()``, by GL name.

        Calls recorded before hold functions of their own, and are not seen; make them through ``by_name``.
        """
        counts: Counter[str] = Counter()

        def counted(function: Callable[..., Any], name: str) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                counts[name] += 1
                return function(*arguments)

            return call

        plain = {name: getattr(self, name) for name in _SIGNATURES}
        try:
            for name, function in plain.items():
                setattr(self, name, counted(function, f"gl{name}"))
            yield counts
        finally:
            vars(self).update(plain)

    def by_name(self, function: Any) -> Callable[..., Any]:
        """Return this object's function for one of the same GL name, such as one of ``prepared``."""
        call: Callable[..., Any] = getattr(self, function.__name__[2:])
        return call

    def integer(self, name: int) -> int:
        """Return one integer of glGetIntegerv."""
        value = (c_int * 4)()
        self.GetIntegerv(name, value)
        return value[0]

    def text(self, name: int) -> str:
        """Return a string of glGetString, empty when the driver has none."""
        value: bytes | None = self.GetString(name)
        return "" if value is None else value.decode("utf-8", "replace")


@cache
def gles2() -> Api:
    """Return the functions of the GL ES 2.0 library of this machine.

    Raises:
        ContextError: there is no such library, or no PyOpenGL, which finds it.
    """
    return Api(_library("GLES2", "libGLESv2"))


@cache
def egl_library() -> ctypes.CDLL:
    """Return the EGL library of this machine.

    Raises:
        ContextError: as ``gles2``.
    """
    return _library("EGL", "libEGL")


def _library(attribute: str, name: str) -> ctypes.CDLL:
    if sys.platform.startswith("linux") and "OpenGL.platform" not in sys.modules:
        os.environ.setdefault("PYOPENGL_PLATFORM", "egl")  # a headless machine has no GLX
    try:
        from OpenGL.platform.egl import EGLPlatform

        library = getattr(EGLPlatform(), attribute)
    except ModuleNotFoundError as error:
        if error.name == "OpenGL":
            raise ContextError("the Python package PyOpenGL is not installed", pip_install("PyOpenGL")) from None
        library = None
    except (ImportError, OSError, AttributeError, TypeError, AssertionError):  # what PyOpenGL makes of a missing one
        library = None
    if library is None:
        raise ContextError(f"the library {name} is not installed", LIBRARIES_HINT)
    # A handle of our own: prototypes set here do not meet those that PyOpenGL sets on its own.
    return ctypes.CDLL(library._name)
