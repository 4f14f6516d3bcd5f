"""OpenGL ES 2.0 contexts of glfw windows: hidden ones to compute with, visible ones to show pictures in.

glfw is imported when the first window is asked for, and not before: its library looks for a screen.
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
_GLFW_LIBRARY = "PYGLFW_LIBRARY"  # the variable by which glfw is told

_windows: set[int] = set()
_left: list[GlfwWindow] = []
"""Windows whose end came in another thread than glfw's; the main thread destroys them."""

_started_here = False


class GlfwWindow:
    """A window with a context, current in the thread that made it; see ``context.Native``.

    Args:
        size: width and height in screen coordinates.
        title: what the window's frame says.
        visible: whether it is shown.

    Attributes:
        how: how it was made, for people.
        glfw: the module glfw, initialised.
        handle: the window, for glfw's functions.

    Raises:
        ContextError: saying why it cannot be made.
    """

    def __init__(self, size: tuple[int, int] = _HIDDEN_SIZE, title: str = "glsl-infer", visible: bool = False) -> None:
        self.glfw = glfw = _start()
        reasons = []
        # EGL first: it is what Wayland and a Raspberry Pi have, and what the other ways use.
        for api, name in ((glfw.EGL_CONTEXT_API, "EGL"), (glfw.NATIVE_CONTEXT_API, "native")):
            with _errors(glfw) as said:
                self.handle = _create(glfw, api, size, title, visible)
            if self.handle:
                break
            reasons.append(f"{name}: {_words(said)}")
        if not self.handle:
            _stop(glfw)
            raise ContextError(f"no glfw window with OpenGL ES 2.0 ({'; '.join(reasons)})", LIBRARIES_HINT)
        _windows.add(_address(self.handle))
        kind = "visible" if visible else "hidden"
        self.how = f"{kind} glfw window ({_platform(glfw)}{name})"
        glfw.make_context_current(self.handle)
        self._egl_handle = egl.current()  # None where the context is GLX's

    def is_current(self) -> bool:
        """Return whether it is current in the calling thread."""
        if self._egl_handle is not None:  # glfw does not notice when others make theirs current
            return egl.current() == self._egl_handle
        return _address(self.glfw.get_current_context()) == _address(self.handle)

    def make_current(self) -> None:
        """Make it current in the calling thread."""
        with _errors(self.glfw) as said:
            self.glfw.make_context_current(self.handle)
        if said or not self.is_current():
            raise ContextError(f"glfw says {_words(said)}")

    def release(self) -> None:
        """Let no context be current in the calling thread."""
        self.glfw.make_context_current(None)

    def destroy(self) -> None:
        """Destroy the window; the last one ends glfw, if it was started here. In other threads it waits."""
        if threading.current_thread() is not threading.main_thread():
            _left.append(self)
            return
        with _errors(self.glfw):
            _windows.discard(_address(self.handle))
            self.glfw.destroy_window(self.handle)
            _stop(self.glfw)


def hidden() -> GlfwWindow:
    """Make a context with a window that is never shown.

    Raises:
        ContextError: saying why it cannot be made.
    """
    return GlfwWindow()


def _import() -> Any:
    """Return the module glfw; it warns where it finds no library, or one that has no use here."""
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
    """Tell glfw which library to load, while it is imported.

    Left alone it asks each library that it finds for its version, by ``python -c`` in the current folder. That executes
    a ``ctypes.py`` that lies there. Beside the package is the library that came with it, else the system has one.
    """
    package = importlib.util.find_spec("glfw")
    if sys.platform == "win32" or os.environ.get(_GLFW_LIBRARY) or package is None or not package.origin:
        yield
        return
    folder = Path(package.origin).resolve().parent
    wayland = "wayland" in (os.environ.get("PYGLFW_LIBRARY_VARIANT", "").lower(), os.environ.get("XDG_SESSION_TYPE"))
    mac = sys.platform == "darwin"
    pattern, usual = ("libglfw*.dylib", "libglfw.3.dylib") if mac else ("libglfw.so*", "libglfw.so.3")
    places = (folder / ("wayland" if wayland else "x11"), folder, Path(sys.prefix) / "lib")
    files = (path for place in places for path in sorted(place.glob(pattern), reverse=True))
    os.environ[_GLFW_LIBRARY] = str(next(files, usual))
    try:
        yield
    finally:
        del os.environ[_GLFW_LIBRARY]


def _start() -> Any:
    """Return the module glfw, initialised."""
    global _started_here  # noqa: PLW0603 - glfw itself is one for the process
    if threading.current_thread() is not threading.main_thread():
        raise ContextError("glfw makes windows in the main thread only", "choose another context in other threads")
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise ContextError("glfw has no screen: neither DISPLAY nor WAYLAND_DISPLAY is set", _SCREEN_HINT)
    while _left:
        _left.pop().destroy()
    glfw = _import()
    with _errors(glfw) as said:
        running = bool(glfw.get_timer_frequency())  # 0 before initialisation
        said.clear()
        if not running:
            if not glfw.init():
                names = [f"{name}={os.environ[name]}" for name in _SCREENS if os.environ.get(name)]
                at = f" at {' or '.join(names)}" if names else ""
                raise ContextError(
                    f"glfw finds no screen{at} ({_words(said)})", _SCREEN_HINT if _has_xlib() else _XLIB_HINT
                )
            _started_here = True
    return glfw


def _has_xlib() -> bool:
    """Return whether the library of X11 can be loaded, if glfw needs it; glfw 3.4 does not report its failure."""
    if not sys.platform.startswith("linux") or not os.environ.get("DISPLAY"):
        return True
    try:
        ctypes.CDLL("libX11.so.6")
    except OSError:
        return False
    return True


def _stop(glfw: Any) -> None:
    """End glfw when no window of ours is left and nobody else started it."""
    global _started_here  # noqa: PLW0603
    if _started_here and not _windows:
        glfw.terminate()
        _started_here = False


def _create(glfw: Any, api: int, size: tuple[int, int], title: str, visible: bool) -> Any:
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
    """Collect what glfw complains about, which its package would print as warnings or raise."""
    said: list[str] = []

    def collect(_code: int, description: object) -> None:
        text = description.decode("utf-8", "replace") if isinstance(description, bytes) else str(description)
        said.append(" ".join(text.split()))

    previous = glfw.set_error_callback(collect)
    try:
        yield said
    finally:
        glfw.set_error_callback(previous)


def _words(said: list[str]) -> str:
    return ", ".join(dict.fromkeys(said)) or "it gives no reason"


def _platform(glfw: Any) -> str:
    """Return the name of the window system with a comma, or nothing where glfw is too old to tell."""
    if not hasattr(glfw, "get_platform"):  # before GLFW 3.4
        return ""
    names = {"X11": "X11", "WAYLAND": "Wayland", "WIN32": "Windows", "COCOA": "macOS"}
    known = {getattr(glfw, f"PLATFORM_{key}", None): f"{name}, " for key, name in names.items()}
    return known.get(glfw.get_platform(), "")


def _address(window: Any) -> int:
    return ctypes.cast(window, ctypes.c_void_p).value or 0
