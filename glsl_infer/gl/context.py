"""OpenGL ES 2.0 contexts without a window: the only place that makes them.

Two ways are tried in turn: Mesa's surfaceless platform, then EGL's device platform. There is no default
framebuffer in either; everything is rendered into textures.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_void_p
from functools import cache, cached_property
from typing import Any

from glsl_infer import llvm_clash
from glsl_infer.closing import Closing
from glsl_infer.errors import ContextError
from glsl_infer.gl import rounding
from glsl_infer.gl.api import LIBRARIES_HINT, Api, egl_library, gles2

CHOICES = ("auto", "surfaceless", "device")

# Names from the EGL 1.4 headers and from the extensions EGL_MESA_platform_surfaceless and EGL_EXT_platform_device.
_NONE = 0x3038
_SURFACE_TYPE, _RENDERABLE_TYPE, _OPENGL_ES2_BIT = 0x3033, 0x3040, 0x0004
_OPENGL_ES_API, _CONTEXT_CLIENT_VERSION, _EXTENSIONS = 0x30A0, 0x3098, 0x3055
_PLATFORM_SURFACELESS, _PLATFORM_DEVICE = 0x31DD, 0x313F
_ERRORS = {
    0x3001: "EGL_NOT_INITIALIZED",
    0x3002: "EGL_BAD_ACCESS",
    0x3003: "EGL_BAD_ALLOC",
    0x3004: "EGL_BAD_ATTRIBUTE",
    0x3005: "EGL_BAD_CONFIG",
    0x3006: "EGL_BAD_CONTEXT",
    0x3008: "EGL_BAD_DISPLAY",
    0x3009: "EGL_BAD_MATCH",
    0x300C: "EGL_BAD_PARAMETER",
}
_MAX_DEVICES = 16


class Context(Closing):
    """An OpenGL ES 2.0 context, current in the thread that made it.

    Attributes:
        how: how it was made, for people: ``surfaceless EGL`` or ``EGL device 0``.
        gl: the functions to call while it is current.
        refusals: why the ways tried before did not work.
        owner: the session whose vertex arrays and fixed state the context has, if any.

    Raises:
        ContextError: none can be made; the message says why for each way that was tried.
    """

    def __init__(self, choice: str = "auto") -> None:
        if choice not in CHOICES:
            raise ContextError(f"context '{choice}'; choose one of {', '.join(CHOICES)}")
        egl_library()  # says what to install when it is missing
        self.gl: Api = gles2()
        self.refusals: list[str] = []
        self.owner: object = None
        ways: dict[str, Callable[[], tuple[int, int, str]]] = {"surfaceless": _surfaceless, "device": _device}
        for name, make in ways.items():
            if choice in ("auto", name):
                try:
                    self._display, self._handle, self.how = make()
                except ContextError as error:
                    self.refusals.append(f"{name}: {error}")
                    continue
                if llvm_clash.tensorflow_loaded() and llvm_clash.mesa_llvm_loaded():
                    self.close()
                    raise ContextError(llvm_clash.ADVICE)
                return
        raise ContextError(f"no OpenGL ES 2.0 context could be made ({'; '.join(self.refusals)}); {LIBRARIES_HINT}")

    @cached_property
    def store_threshold(self) -> float:
        """The fraction of a step from which a store rounds up, measured once; see ``rounding.store_threshold``."""
        self.make_current()
        self.owner = None  # whoever set the context's state has to do so again
        return rounding.store_threshold(self.gl)

    @property
    def device_lines(self) -> str:
        """The ``#define`` lines that shaders need on this device; see ``rounding.device_lines``."""
        return rounding.device_lines(self.store_threshold)

    def make_current(self) -> None:
        """Make the context current in the calling thread.

        Raises:
            ContextError: it is closed, or current in another thread.
        """
        if not self._handle:
            raise ContextError("the OpenGL context is closed")
        egl = _egl()
        if egl.eglGetCurrentContext() != self._handle and not egl.eglMakeCurrent(
            self._display, None, None, self._handle
        ):
            raise ContextError(
                f"the OpenGL context cannot be made current ({_error()}); it may be in use by another thread: "
                "give each thread its own Session"
            )

    def close(self) -> None:
        """Destroy the context and all that lives in it; further calls do nothing."""
        if self._handle:
            egl = _egl()
            if egl.eglGetCurrentContext() == self._handle:
                egl.eglMakeCurrent(self._display, None, None, None)
            egl.eglDestroyContext(self._display, self._handle)
            self._handle = 0


@cache
def _egl() -> Any:
    library = egl_library()
    handle = c_void_p
    signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "eglBindAPI": (c_uint, (c_uint,)),
        "eglChooseConfig": (c_uint, (handle, POINTER(c_int), POINTER(handle), c_int, POINTER(c_int))),
        "eglCreateContext": (handle, (handle, handle, handle, POINTER(c_int))),
        "eglDestroyContext": (c_uint, (handle, handle)),
        "eglGetCurrentContext": (handle, ()),
        "eglGetError": (c_int, ()),
        "eglGetProcAddress": (handle, (c_char_p,)),
        "eglInitialize": (c_uint, (handle, POINTER(c_int), POINTER(c_int))),
        "eglMakeCurrent": (c_uint, (handle, handle, handle, handle)),
        "eglQueryString": (c_char_p, (handle, c_int)),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _surfaceless() -> tuple[int, int, str]:
    if "EGL_MESA_platform_surfaceless" not in _client_extensions():
        raise ContextError("the EGL library has no EGL_MESA_platform_surfaceless")
    display = _platform_display(_PLATFORM_SURFACELESS, None)
    return display, _context(display), "surfaceless EGL"


def _device() -> tuple[int, int, str]:
    extensions = _client_extensions()
    if "EGL_EXT_platform_device" not in extensions:
        raise ContextError("the EGL library has no EGL_EXT_platform_device")
    query = _extension("eglQueryDevicesEXT", ctypes.CFUNCTYPE(c_uint, c_int, POINTER(c_void_p), POINTER(c_int)))
    devices, count = (c_void_p * _MAX_DEVICES)(), c_int()
    if not query(_MAX_DEVICES, devices, byref(count)) or not count.value:
        raise ContextError("EGL lists no devices")
    refusals = []
    for index in range(count.value):
        try:
            display = _platform_display(_PLATFORM_DEVICE, devices[index])
            return display, _context(display), f"EGL device {index}"
        except ContextError as error:
            refusals.append(f"device {index}: {error}")
    raise ContextError("; ".join(refusals))


def _platform_display(platform: int, native: int | None) -> int:
    get = _extension("eglGetPlatformDisplayEXT", ctypes.CFUNCTYPE(c_void_p, c_uint, c_void_p, POINTER(c_int)))
    display: int | None = get(platform, native, None)
    if not display:
        raise ContextError(f"EGL has no display there ({_error()})")
    # Displays belong to the process and are never terminated: that would end other people's contexts too.
    if not _egl().eglInitialize(display, None, None):
        raise ContextError(f"EGL cannot initialise the display ({_error()})")
    return display


def _context(display: int) -> int:
    """Return a new ES 2.0 context, made current without a surface."""
    egl = _egl()
    if not egl.eglBindAPI(_OPENGL_ES_API):
        raise ContextError(f"EGL does not know OpenGL ES ({_error()})")
    wanted = (c_int * 5)(_SURFACE_TYPE, 0, _RENDERABLE_TYPE, _OPENGL_ES2_BIT, _NONE)
    config, count = c_void_p(), c_int()
    if not egl.eglChooseConfig(display, wanted, byref(config), 1, byref(count)) or not count.value:
        raise ContextError("EGL has no configuration for OpenGL ES 2.0")
    version = (c_int * 3)(_CONTEXT_CLIENT_VERSION, 2, _NONE)
    context: int | None = egl.eglCreateContext(display, config, None, version)
    if not context:
        raise ContextError(f"EGL cannot create a context ({_error()})")
    if not egl.eglMakeCurrent(display, None, None, context):
        reason = _error()
        egl.eglDestroyContext(display, context)
        raise ContextError(f"EGL cannot use a context without a surface ({reason})")
    return context


def _extension(name: str, prototype: Any) -> Any:
    address = _egl().eglGetProcAddress(name.encode())
    if not address:
        raise ContextError(f"the EGL library has no {name}")
    return prototype(address)


def _client_extensions() -> list[str]:
    text: bytes | None = _egl().eglQueryString(None, _EXTENSIONS)
    return (text or b"").decode().split()


def _error() -> str:
    code = _egl().eglGetError()
    return _ERRORS.get(code, hex(code))
