"""OpenGL ES 2.0 contexts: the only place that chooses how one is made.

Three ways are tried in turn: Mesa's surfaceless platform, EGL's device platform (both in ``egl.py``), and a hidden
window (``glfw_window.py``). Whatever the way, everything is rendered into textures.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Protocol, Union

from glsl_infer.errors import ContextError
from glsl_infer.gl import egl, glfw_window
from glsl_infer.gl.api import LIBRARIES_HINT, Api, egl_library, gles2
from glsl_infer.support import llvm_clash
from glsl_infer.support.closing import Closing, warn_unclosed


class Native(Protocol):
    """A context as its platform has it: what ``Context`` needs of each kind."""

    how: str

    def is_current(self) -> bool:
        """Return whether it is current in the calling thread."""

    def make_current(self) -> None:
        """Make it current in the calling thread, where no other kind is."""

    def release(self) -> None:
        """Let no context be current in the calling thread."""

    def destroy(self) -> None:
        """Destroy it, and what was made for it; called once, when it is current nowhere."""


WAYS: dict[str, Callable[[], Native]] = {
    "surfaceless": egl.surfaceless,
    "device": egl.device,
    "glfw": glfw_window.hidden,
}
"""How a context can be made, in the order in which ``auto`` tries."""

CHOICES = ("auto", *WAYS)


class _Thread(threading.local):
    native: Native | None = None
    """The context that was made current last in this thread."""


_thread = _Thread()


class _Process:
    first: int | None = None
    """The id of the process that made the first context; a fork has its copy, but not the driver's threads."""


_process = _Process()

_FORKED = (
    "this process was forked from one that had used OpenGL, and the driver's threads are not in it: "
    "start processes with multiprocessing's 'spawn', or fork before the first Session"
)


class Context(Closing):
    """An OpenGL ES 2.0 context, of the thread that made it: another can use and close it only when that has ended.

    One that nobody closes is destroyed with its last reference, and a ResourceWarning says so.

    Args:
        choice: ``auto``, ``surfaceless``, ``device`` or ``glfw``; or a function that makes one of another kind,
            which then belongs to this object.

    Attributes:
        how: how it was made, for people: ``surfaceless EGL``, ``EGL device 0`` or ``hidden glfw window (X11, EGL)``.
        gl: the functions to call while it is current.
        refusals: why the ways that ``auto`` tried before did not work.
        native: what its platform has of it.
        adopted: a session made it, and warns where nobody closes both.
        driver: what the runtime knows of its driver (``runtime.drivers``), kept here for as long as the context lives.

    Raises:
        ContextError: none can be made; with ``auto``, the message says why for each way.
    """

    _closed = True  # until there is one

    def __init__(self, choice: Union[str, Callable[[], Native]] = "auto") -> None:
        if isinstance(choice, str) and choice not in CHOICES:
            raise ContextError(f"context '{choice}'; choose one of {', '.join(CHOICES)}")
        if _forked():
            raise ContextError(_FORKED)
        egl_library()  # says what to install when it is missing
        self.gl: Api = gles2()
        self.refusals: list[str] = []
        self.adopted = False
        self.driver: object = None
        self._owner: weakref.ref[object] | None = None
        self._left: list[Callable[[], None]] = []
        self._thread = threading.current_thread()
        leave_current()
        _process.first = os.getpid()
        self.native = self._make(choice) if isinstance(choice, str) else choice()
        self._closed = False
        self.how = self.native.how
        _thread.native = self.native
        if llvm_clash.tensorflow_loaded() and llvm_clash.mesa_llvm_loaded():
            self.close()
            raise ContextError(llvm_clash.ADVICE)

    def _make(self, choice: str) -> Native:
        if choice != "auto":
            return WAYS[choice]()
        advices: list[str] = []
        for name, make in WAYS.items():
            try:
                return make()
            except ContextError as error:
                self.refusals.append(f"{name}: {error.reason}")
                advices.append(error.advice)
        advice = "; ".join(dict.fromkeys(filter(None, advices))) or LIBRARIES_HINT
        raise ContextError(f"no OpenGL ES 2.0 context could be made ({'; '.join(self.refusals)})", advice)

    @property
    def owner(self) -> object:
        """The session whose vertex arrays and fixed state the context has, if any; it is not kept alive by that."""
        return None if self._owner is None else self._owner()

    @owner.setter
    def owner(self, session: object) -> None:
        self._owner = None if session is None else weakref.ref(session)

    @cached_property
    def store_threshold(self) -> float:
        """The fraction of a step from which a store rounds up, measured once; see ``rounding.store_threshold``."""
        from glsl_infer.gl import rounding  # with NumPy: what only looks for a driver needs none

        self.make_current()
        self.owner = None  # whoever set the context's state has to do so again
        return rounding.store_threshold(self.gl)

    @cached_property
    def sum_threshold(self) -> float:
        """The fraction of the last bit from which an addition rounds up, measured once; as ``store_threshold``."""
        from glsl_infer.gl import rounding

        self.make_current()
        self.owner = None
        return rounding.sum_threshold(self.gl)

    @property
    def forked(self) -> bool:
        """Whether this is the copy that a fork has: it cannot be used, and closing it leaves the original alone."""
        return _forked()

    def make_current(self) -> None:
        """Make the context current in the calling thread.

        Raises:
            ContextError: it is closed, another thread's, or the copy that a fork has.
        """
        if self._closed:
            raise ContextError("the OpenGL context is closed")
        if _forked():
            raise ContextError(_FORKED)
        self.require_thread()
        if not self.native.is_current():
            self._switch()
        while self._left:
            self._left.pop()()

    def require_thread(self) -> None:
        """Refuse a thread that the context does not belong to; it belongs to the next one if its own has ended.

        Raises:
            ContextError: it is another thread's.
        """
        own = threading.current_thread()
        if own is not self._thread:
            if self._thread.is_alive():
                raise ContextError(
                    f"the OpenGL context belongs to the thread '{self._thread.name}', not to '{own.name}': "
                    "give each thread its own Session"
                )
            self._thread = own

    def _switch(self) -> None:
        leave_current()
        try:
            self.native.make_current()
        except ContextError as error:
            raise ContextError(
                f"the OpenGL context cannot be made current ({error.reason}); it may be in use by another thread: "
                "give each thread its own Session"
            ) from None
        _thread.native = self.native

    def free_later(self, free: Callable[[], None]) -> None:
        """Call a function that deletes GL objects when the context is made current next; never, if that is its end.

        Python drops objects in any thread, and in the midst of what others draw. No GL call may be made there.
        """
        self._left.append(free)

    @property
    def closed(self) -> bool:
        """Whether it is destroyed, and all that lived in it."""
        return self._closed

    def __del__(self) -> None:
        if self._closed or sys.is_finalizing() or _forked():
            return
        self._destroy()
        if not self.adopted:
            warn_unclosed(f"OpenGL context ({self.how})", self)

    def close(self) -> None:
        """Destroy the context and all that lives in it; further calls do nothing.

        Raises:
            ContextError: it is another thread's.
        """
        if not self._closed and not _forked():
            self.require_thread()
        self._destroy()

    def _destroy(self) -> None:
        if self._closed:
            return
        self._closed = True
        if _forked():
            return
        if self.native.is_current():
            self.native.release()
        if _thread.native is self.native:
            _thread.native = None
        self.native.destroy()


def _forked() -> bool:
    return _process.first not in (None, os.getpid())


def leave_current() -> None:
    """Let none of our contexts be current in this thread.

    EGL and GLX (what an X11 window may have) refuse each other's contexts while one of their own is current.
    """
    if _thread.native is not None and _thread.native.is_current():
        _thread.native.release()
    _thread.native = None
