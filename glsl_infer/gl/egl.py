"""OpenGL ES 2.0 contexts from EGL without a window: Mesa's surfaceless platform, and EGL's device platform.

Neither has a default framebuffer; all rendering goes into textures.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_uint, c_void_p
from functools import cache
from typing import Any

from glsl_infer.errors import ContextError
from glsl_infer.gl.api import LIBRARIES_HINT, egl_library

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
    0x300A: "EGL_BAD_NATIVE_PIXMAP",
    0x300C: "EGL_BAD_PARAMETER",
}
_MAX_DEVICES = 16


class EglContext:
    """A context without a surface, current in its creator's thread; implements ``context.Native``.

    Attributes:
        how: description of its creation for users.
    """

    def __init__(self, display: int, how: str) -> None:
        self.how = how
        self._display, self._handle = display, _context(display)

    def is_current(self) -> bool:
        """Return whether the context is current in the calling thread."""
        return current() == self._handle

    def make_current(self) -> None:
        """Make the context current in the calling thread."""
        if not _egl().eglMakeCurrent(self._display, None, None, self._handle):
            raise ContextError(f"EGL reports {last_error()}")

    def release(self) -> None:
        """Leave the calling thread without a current context."""
        _egl().eglMakeCurrent(self._display, None, None, None)

    def destroy(self) -> None:
        """Destroy the context and its objects."""
        _egl().eglDestroyContext(self._display, self._handle)


def current() -> int | None:
    """Return the handle of the calling thread's current EGL context, also one created outside glsl-infer."""
    handle: int | None = _egl().eglGetCurrentContext()
    return handle


def current_display() -> int | None:
    """Return the handle of the display of the calling thread's current EGL context."""
    handle: int | None = _egl().eglGetCurrentDisplay()
    return handle


def display_extensions() -> list[str]:
    """Return the extensions of the display of the calling thread's current EGL context."""
    text: bytes | None = _egl().eglQueryString(current_display(), _EXTENSIONS)
    return (text or b"").decode().split()


def surfaceless() -> EglContext:
    """Create a context on Mesa's surfaceless platform.

    Raises:
        ContextError: creation failed; the message has the reason.
    """
    if "EGL_MESA_platform_surfaceless" not in _client_extensions():
        raise ContextError("no EGL driver here has EGL_MESA_platform_surfaceless, as Mesa's have", LIBRARIES_HINT)
    return EglContext(_platform_display(_PLATFORM_SURFACELESS, None), "surfaceless EGL")


def device() -> EglContext:
    """Create a context on the first EGL device with OpenGL ES 2.0.

    Raises:
        ContextError: creation failed; the message has the reason for each device.
    """
    if "EGL_EXT_platform_device" not in _client_extensions():
        raise ContextError("no EGL driver here has EGL_EXT_platform_device", LIBRARIES_HINT)
    query = extension_function("eglQueryDevicesEXT", ctypes.CFUNCTYPE(c_uint, c_int, POINTER(c_void_p), POINTER(c_int)))
    devices, count = (c_void_p * _MAX_DEVICES)(), c_int()
    if not query(_MAX_DEVICES, devices, byref(count)) or not count.value:
        raise ContextError("EGL lists no devices", LIBRARIES_HINT)
    refusals = []
    for index in range(count.value):
        try:
            return EglContext(_platform_display(_PLATFORM_DEVICE, devices[index]), f"EGL device {index}")
        except ContextError as error:
            refusals.append(f"device {index}: {error.reason}")
    raise ContextError("; ".join(refusals), LIBRARIES_HINT)


@cache
def _egl() -> Any:
    """Return the EGL library with the signatures of its functions."""
    library = egl_library()
    handle = c_void_p
    signatures: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "eglBindAPI": (c_uint, (c_uint,)),
        "eglChooseConfig": (c_uint, (handle, POINTER(c_int), POINTER(handle), c_int, POINTER(c_int))),
        "eglCreateContext": (handle, (handle, handle, handle, POINTER(c_int))),
        "eglDestroyContext": (c_uint, (handle, handle)),
        "eglGetCurrentContext": (handle, ()),
        "eglGetCurrentDisplay": (handle, ()),
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


def _platform_display(platform: int, native: int | None) -> int:
    get = extension_function("eglGetPlatformDisplayEXT", ctypes.CFUNCTYPE(c_void_p, c_uint, c_void_p, POINTER(c_int)))
    display: int | None = get(platform, native, None)
    if not display:
        raise ContextError(f"EGL has no display there ({last_error()})", LIBRARIES_HINT)
    # Displays are shared by the process. They are never terminated, since that would end other contexts too.
    if not _egl().eglInitialize(display, None, None):
        raise ContextError(f"EGL cannot initialise the display ({last_error()})", LIBRARIES_HINT)
    return display


def _context(display: int) -> int:
    """Create an ES 2.0 context and make it current without a surface."""
    egl = _egl()
    if not egl.eglBindAPI(_OPENGL_ES_API):
        raise ContextError(f"EGL has no OpenGL ES ({last_error()})")
    requirements = (c_int * 5)(_SURFACE_TYPE, 0, _RENDERABLE_TYPE, _OPENGL_ES2_BIT, _NONE)
    config, count = c_void_p(), c_int()
    if not egl.eglChooseConfig(display, requirements, byref(config), 1, byref(count)) or not count.value:
        raise ContextError("EGL has no configuration for OpenGL ES 2.0")
    version = (c_int * 3)(_CONTEXT_CLIENT_VERSION, 2, _NONE)
    context: int | None = egl.eglCreateContext(display, config, None, version)
    if not context:
        raise ContextError(f"EGL cannot create a context ({last_error()})")
    if not egl.eglMakeCurrent(display, None, None, context):
        reason = last_error()
        egl.eglDestroyContext(display, context)
        raise ContextError(f"EGL cannot use a context without a surface ({reason})")
    return context


def extension_function(name: str, prototype: Any) -> Any:
    """Return an extension function of EGL, or of GL in an EGL context.

    Raises:
        ContextError: the library has no such function.
    """
    address = _egl().eglGetProcAddress(name.encode())
    if not address:
        raise ContextError(f"the EGL library has no {name}")
    return prototype(address)


def _client_extensions() -> list[str]:
    text: bytes | None = _egl().eglQueryString(None, _EXTENSIONS)
    return (text or b"").decode().split()


def last_error() -> str:
    """Return the name of the error of the calling thread's last EGL call, and reset it."""
    code = _egl().eglGetError()
    return _ERRORS.get(code, hex(code))
