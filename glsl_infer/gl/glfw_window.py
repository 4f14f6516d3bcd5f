"""OpenGL ES 2.0 contexts of glfw windows: hidden ones for computing, visible ones for display.

glfw is imported for the first window only, because its library connects to a screen.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from glsl_infer.errors import ContextError, pip_install
from glsl_infer.gl import egl
from glsl_infer.gl.api import LIBRARIES_HINT

_SCREEN_HINT = "set DISPLAY or WAYLAND_DISPLAY to a screen that you may use, or run it under xvfb-run (apt: xvfb)"
_GLFW_HINT = f"{pip_install('glfw')}, or on Debian, Ubuntu or Raspberry Pi OS: sudo apt install libglfw3"
_XLIB_HINT = "on Debian, Ubuntu or Raspberry Pi OS: sudo apt install libx11-6"
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
_HIDDEN_SIZE = (64, 64)
_GLFW_LIBRARY = "PYGLFW_LIBRARY"  # environment variable with the path of glfw's library

_windows: set[int] = set()
_to_destroy: list[GlfwWindow] = []
"""Windows closed in other threads. glfw requires the main thread to destroy them."""

_started_here = False


class GlfwWindow:
    """A window with a context, current in its creator's thread; implements ``context.Native``.

    Args:
        size: width and height in screen coordinates.
        title: text of the title bar.
        visible: whether to show the window.

    Attributes:
        how: description of its creation for users.
        glfw: the initialised module glfw.
        handle: the window, for glfw's functions.

    Raises:
        ContextError: creation failed; the message has the reason.
    """

    def __init__(self, size: tuple[int, int] = _HIDDEN_SIZE, title: str = "glsl-infer", visible: bool = False) -> None:
        self.glfw = glfw = _start()
        reasons = []
        # EGL first: Wayland and Raspberry Pis have it, and the other methods use it.
        for api, name in ((glfw.EGL_CONTEXT_API, "EGL"), (glfw.NATIVE_CONTEXT_API, "native")):
            with _errors(glfw) as errors:
                self.handle = _create(glfw, api, size, title, visible)
            if self.handle:
                break
            reasons.append(f"{name}: {_join(errors)}")
        if not self.handle:
            _stop(glfw)
            raise ContextError(f"no glfw window with OpenGL ES 2.0 ({'; '.join(reasons)})", LIBRARIES_HINT)
        _windows.add(_address(self.handle))
        visibility = "visible" if visible else "hidden"
        self.how = f"{visibility} glfw window ({_platform(glfw)}{name})"
        glfw.make_context_current(self.handle)
        self._egl_handle = egl.current()  # None for a GLX context

    def is_current(self) -> bool:
        """Return whether the context is current in the calling thread."""
        if self._egl_handle is not None:  # glfw does not notice changes by other code
            return egl.current() == self._egl_handle
        return _address(self.glfw.get_current_context()) == _address(self.handle)

    def make_current(self) -> None:
        """Make the context current in the calling thread."""
        with _errors(self.glfw) as errors:
            self.glfw.make_context_current(self.handle)
        if errors or not self.is_current():
            raise ContextError(f"glfw reports {_join(errors)}")

    def release(self) -> None:
        """Leave the calling thread without a current context."""
        self.glfw.make_context_current(None)

    def destroy(self) -> None:
        """Destroy the window; terminate glfw after the last one, if this module initialised it.

        In other threads the destruction is left to the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            _to_destroy.append(self)
            return
        with _errors(self.glfw):
            _windows.discard(_address(self.handle))
            self.glfw.destroy_window(self.handle)
            _stop(self.glfw)


def hidden() -> GlfwWindow:
    """Create a context with a window that stays hidden.

    Raises:
        ContextError: creation failed; the message has the reason.
    """
    return GlfwWindow()


def _import() -> Any:
    """Import glfw without its warnings about a missing library or screen."""
    if "glfw" in sys.modules:
        return sys.modules["glfw"]
    try:
        with warnings.catch_warnings(), _library_named():
            warnings.simplefilter("ignore")
            import glfw
    except ImportError as error:
        if error.name == "glfw":
            raise ContextError("the Python package glfw is not installed", _GLFW_HINT) from None
        raise ContextError(f"the library glfw cannot be loaded ({error})", _GLFW_HINT) from None
    return glfw


@contextmanager
def _library_named() -> Iterator[None]:
    """Set the path of glfw's library while the package is imported.

    Otherwise the package runs ``python -c`` in the current folder to query the version of each library, which would
    execute a ``ctypes.py`` in that folder. The library of the wheel is preferred to the system's.
    """
    package = importlib.util.find_spec("glfw")
    if sys.platform == "win32" or os.environ.get(_GLFW_LIBRARY) or package is None or not package.origin:
        yield
        return
    folder = Path(package.origin).resolve().parent
    wayland = "wayland" in (os.environ.get("PYGLFW_LIBRARY_VARIANT", "").lower(), os.environ.get("XDG_SESSION_TYPE"))
    mac = sys.platform == "darwin"
    pattern, default = ("libglfw*.dylib", "libglfw.3.dylib") if mac else ("libglfw.so*", "libglfw.so.3")
    folders = (folder / ("wayland" if wayland else "x11"), folder, Path(sys.prefix) / "lib")
    files = (path for parent in folders for path in sorted(parent.glob(pattern), reverse=True))
    os.environ[_GLFW_LIBRARY] = str(next(files, default))
    try:
        yield
    finally:
        del os.environ[_GLFW_LIBRARY]


def _start() -> Any:
    """Return the initialised module glfw."""
    global _started_here  # noqa: PLW0603 - glfw itself is one for the process
    if threading.current_thread() is not threading.main_thread():
        raise ContextError("glfw makes windows in the main thread only", "choose another context in other threads")
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ContextError("glfw has no screen: neither DISPLAY nor WAYLAND_DISPLAY is set", _SCREEN_HINT)
    while _to_destroy:
        _to_destroy.pop().destroy()
    glfw = _import()
    with _errors(glfw) as errors:
        running = bool(glfw.get_timer_frequency())  # 0 before initialisation
        errors.clear()
        if not running:
            if not glfw.init():
                names = [f"{name}={os.environ[name]}" for name in _SCREENS if os.environ.get(name)]
                where = f" at {' or '.join(names)}" if names else ""
                raise ContextError(
                    f"glfw finds no screen{where} ({_join(errors)})",
                    _SCREEN_HINT if _has_xlib() else _XLIB_HINT,
                )
            _started_here = True
    return glfw


def _has_xlib() -> bool:
    """Return whether X11's library can be loaded, if glfw needs it. glfw 3.4 does not report its absence."""
    if not sys.platform.startswith("linux") or not os.environ.get("DISPLAY"):
        return True
    try:
        ctypes.CDLL("libX11.so.6")
    except OSError:
        return False
    return True


def _stop(glfw: Any) -> None:
    """Terminate glfw after the last window, if this module initialised it."""
    global _started_here  # noqa: PLW0603
    if _started_here and not _windows:
        glfw.terminate()
        _started_here = False


def _create(glfw: Any, api: int, size: tuple[int, int], title: str, visible: bool) -> Any:
    """Return a new window with an OpenGL ES 2.0 context of a context API, or None if GLFW cannot create it."""
    glfw.default_window_hints()
    for hint, value in (
        (glfw.CLIENT_API, glfw.OPENGL_ES_API),
        (glfw.CONTEXT_VERSION_MAJOR, 2),
        (glfw.CONTEXT_VERSION_MINOR, 0),
        (glfw.CONTEXT_CREATION_API, api),
        (glfw.VISIBLE, visible),
        (glfw.ALPHA_BITS, 0),
        (glfw.DEPTH_BITS, 0),
        (glfw.STENCIL_BITS, 0),
        (getattr(glfw, "SCALE_TO_MONITOR", 0x0002200C), True),
    ):
        glfw.window_hint(hint, value)
    return glfw.create_window(*size, title, None, None)


@contextmanager
def _errors(glfw: Any) -> Iterator[list[str]]:
    """Collect glfw's error messages, which its package would print as warnings or raise."""
    errors: list[str] = []

    def collect(_code: int, description: object) -> None:
        text = description.decode("utf-8", "replace") if isinstance(description, bytes) else str(description)
        errors.append(" ".join(text.split()))

    previous = glfw.set_error_callback(collect)
    try:
        yield errors
    finally:
        glfw.set_error_callback(previous)


def _join(errors: list[str]) -> str:
    return ", ".join(dict.fromkeys(errors)) or "it gives no reason"


def _platform(glfw: Any) -> str:
    """Return the name of the window system followed by a comma, or an empty string before GLFW 3.4."""
    if not hasattr(glfw, "get_platform"):  # before GLFW 3.4
        return ""
    names = {"X11": "X11", "WAYLAND": "Wayland", "WIN32": "Windows", "COCOA": "macOS"}
    by_platform = {getattr(glfw, f"PLATFORM_{key}", None): f"{name}, " for key, name in names.items()}
    return by_platform.get(glfw.get_platform(), "")


def _address(window: Any) -> int:
    return ctypes.cast(window, ctypes.c_void_p).value or 0
