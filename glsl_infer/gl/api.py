"""OpenGL ES 2.0 functions of the engine, called through ctypes.

Calls through ctypes cost a fraction of PyOpenGL's checked wrappers, and change no global state of the application.
Calls without prototypes (``Api.prepared``) cost a third of those with prototypes. PyOpenGL only locates a library that
does not have its usual name, because a Pi Zero needs 45 million instructions to import it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import POINTER, c_char_p, c_float, c_int, c_uint, c_void_p
from functools import cache
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

STATE = frozenset(
    (
        "ActiveTexture",
        "BindFramebuffer",
        "BindTexture",
        "ClearColor",
        "Uniform1fv",
        "Uniform2fv",
        "Uniform3fv",
        "Uniform4fv",
        "UseProgram",
        "Viewport",
    )
)
"""Functions of a frame that only record state, so that no driver waits in them."""

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
_ERRORS[0x0507] = "GL_CONTEXT_LOST"  # from KHR_robustness; drivers return it after a reset


class _Prepared:
    """Functions without result and without prototypes, created at their first use; see ``Api``."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library, self._keeping_lock = library, ctypes.PyDLL(None, handle=library._handle)

    def __getattr__(self, name: str) -> Any:
        result_type, _ = _signature(name)
        if result_type is not None:
            raise AttributeError(f"gl{name} has a result")
        source = self._keeping_lock if name in STATE else self._library
        entry_point = source[f"gl{name}"]  # each subscription creates a function object without prototype
        entry_point.restype = None
        setattr(self, name, entry_point)
        return entry_point


def _signature(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Return the types of a function's result and of its arguments.

    Raises:
        AttributeError: the engine does not use this function.
    """
    if name not in _SIGNATURES:
        raise AttributeError(f"gl{name} is not in glsl_infer.gl.api._SIGNATURES")
    return _SIGNATURES[name]


class Api:
    """Functions of the GL ES 2.0 library, without their ``gl`` prefix: ``api.Clear(mask)``.

    They act on the current context of the calling thread. Each function has its GL name as ``__name__``.

    Attributes:
        prepared: the functions without result, and without ctypes prototypes, for calls prepared once and repeated
            often. An int is passed as a C int and an array as its address. All other arguments must be ctypes values.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.prepared = _Prepared(library)
        self._library = library

    def __getattr__(self, name: str) -> Any:
        """Create a function at its first use: a start uses half of them."""
        result_type, arguments = _signature(name)
        entry_point: Any = ctypes.CFUNCTYPE(result_type, *arguments)((f"gl{name}", self._library))
        entry_point.__name__ = f"gl{name}"
        setattr(self, name, entry_point)
        return entry_point

    def check(self, where: str) -> None:
        """Raise GlError if the driver has recorded an error since the last check."""
        codes: list[str] = []
        while (code := self.GetError()) != 0 and len(codes) < 16:
            codes.append(_ERRORS.get(code, hex(code)))
        if codes:
            raise GlError(f"OpenGL reports {', '.join(dict.fromkeys(codes))} {where}")

    @contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Count calls made as ``api.Name()`` within the block, by GL name.

        Functions obtained earlier are not counted. Prepared calls can be made through ``by_name`` instead.
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
        """Return this object's function with the same GL name as another, such as one of ``prepared``."""
        call: Callable[..., Any] = getattr(self, function.__name__[2:])
        return call

    def integer(self, name: int) -> int:
        """Return one integer of glGetIntegerv."""
        value = (c_int * 4)()
        self.GetIntegerv(name, value)
        return value[0]

    def text(self, name: int) -> str:
        """Return a string of glGetString, or an empty string if the driver returns none."""
        value: bytes | None = self.GetString(name)
        return "" if value is None else value.decode("utf-8", "replace")


@cache
def gles2() -> Api:
    """Return the functions of this machine's GL ES 2.0 library.

    Raises:
        ContextError: the library is not installed, or not on Linux and PyOpenGL is not.
    """
    return Api(_library("GLES2", "libGLESv2", 2))


@cache
def egl_library() -> ctypes.CDLL:
    """Return this machine's EGL library.

    Raises:
        ContextError: the library is not installed, or not on Linux and PyOpenGL is not.
    """
    return _library("EGL", "libEGL", 1)


def _library(attribute: str, name: str, version: int) -> ctypes.CDLL:
    """Load a library by the name that it has on Linux, else as PyOpenGL does.

    Args:
        attribute: its name on PyOpenGL's platforms.
        name: its name without suffix.
        version: of its interface.
    """
    linux = sys.platform.startswith("linux")
    if linux:
        if "OpenGL.platform" not in sys.modules:
            os.environ.setdefault("PYOPENGL_PLATFORM", "egl")  # a headless machine has no GLX
        with suppress(OSError):
            return ctypes.CDLL(f"{name}.so.{version}")
    try:
        from OpenGL.platform.egl import EGLPlatform

        library = getattr(EGLPlatform(), attribute)
    except ModuleNotFoundError as error:
        if error.name == "OpenGL" and not linux:
            raise ContextError("the Python package PyOpenGL is not installed", pip_install("PyOpenGL")) from None
        library = None
    except (ImportError, OSError, AttributeError, TypeError, AssertionError):  # PyOpenGL's errors for a missing library
        library = None
    if library is None:
        raise ContextError(f"the library {name} is not installed", LIBRARIES_HINT)
    # A separate handle keeps the prototypes set here apart from PyOpenGL's.
    return ctypes.CDLL(library._name)
