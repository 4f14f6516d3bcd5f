"""Creation of OpenGL ES 2.0 contexts.

There are three methods: Mesa's surfaceless platform and EGL's device platform (``egl.py``), and a hidden window
(``glfw_window.py``). All rendering goes into textures, so the methods are equivalent.
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
from glsl_infer.gl import CHOICES, DEVICE, GLFW, SURFACELESS, egl
from glsl_infer.gl.api import LIBRARIES_HINT, Api, egl_library, gles2
from glsl_infer.support import llvm_clash
from glsl_infer.support.closing import Closing, warn_unclosed


class Native(Protocol):
    """Interface of a platform's context, for ``Context``."""

    how: str

    def is_current(self) -> bool:
        """Return whether the context is current in the calling thread."""

    def make_current(self) -> None:
        """Make the context current in the calling thread; no context of another platform may be current."""

    def release(self) -> None:
        """Leave the calling thread without a current context."""

    def destroy(self) -> None:
        """Destroy the context and its resources. Called once, when it is not current in any thread."""


def _hidden_window() -> Native:
    from glsl_infer.gl import glfw_window  # contexts without a window start sooner without it

    return glfw_window.hidden()


WAYS: dict[str, Callable[[], Native]] = {
    SURFACELESS: egl.surfaceless,
    DEVICE: egl.device,
    GLFW: _hidden_window,
}
"""Methods of context creation, in the order tried by ``auto``."""


class _Thread(threading.local):
    native: Native | None = None
    """Context most recently made current in this thread."""


_thread = _Thread()


class _Process:
    first: int | None = None
    """Process ID at the creation of the first context. A forked process has a copy of the context, without the driver's
    threads."""


_process = _Process()

_FORKED = (
    "this process was forked from one that had used OpenGL, and the driver's threads are not in it: "
    "start processes with multiprocessing's 'spawn', or fork before the first Session"
)


class Context(Closing):
    """An OpenGL ES 2.0 context, used by its creator's thread; by another only after that thread has ended.

    A context without references that was not closed is destroyed with a ResourceWarning.

    Args:
        choice: ``auto``, ``surfaceless``, ``device`` or ``glfw``; or a function that creates a native context, which
            this object then owns.

    Attributes:
        how: description of the method for users: ``surfaceless EGL``, ``EGL device 0`` or ``hidden glfw window (X11,
            EGL)``.
        gl: functions to call while the context is current.
        refusals: reasons for the failure of methods that ``auto`` tried first.
        native: the platform's context.
        adopted: whether a session created the context and warns instead if both are left open.
        driver: facts about the driver (``runtime.drivers``), cached for the lifetime of the context.

    Raises:
        ContextError: creation failed; with ``auto`` the message has the reason for each method.
    """

    _closed = True  # for __del__ after a failed constructor

    def __init__(self, choice: Union[str, Callable[[], Native]] = "auto") -> None:
        if isinstance(choice, str) and choice not in CHOICES:
            raise ContextError(f"context '{choice}'; choose one of {', '.join(CHOICES)}")
        if _forked():
            raise ContextError(_FORKED)
        egl_library()  # raises with the package to install if EGL is missing
        self.gl: Api = gles2()
        self.refusals: list[str] = []
        self.adopted = False
        self.driver: object = None
        self._owner: weakref.ref[object] | None = None
        self._pending: list[Callable[[], None]] = []
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
        advice_texts: list[str] = []
        for name, make in WAYS.items():
            try:
                return make()
            except ContextError as error:
                self.refusals.append(f"{name}: {error.reason}")
                advice_texts.append(error.advice)
        advice = "; ".join(dict.fromkeys(filter(None, advice_texts))) or LIBRARIES_HINT
        raise ContextError(f"no OpenGL ES 2.0 context could be made ({'; '.join(self.refusals)})", advice)

    @property
    def owner(self) -> object:
        """The session whose vertex arrays and fixed state the context has, or None. It is referenced weakly."""
        return None if self._owner is None else self._owner()

    @owner.setter
    def owner(self, session: object) -> None:
        self._owner = None if session is None else weakref.ref(session)

    @cached_property
    def store_threshold(self) -> float:
        """Fraction of a step from which a store rounds up, measured once by ``rounding.store_threshold``."""
        from glsl_infer.gl import rounding  # imports NumPy, which commands that only detect a driver do not need

        self.make_current()
        self.owner = None  # the measurement changes the state; the session must set it again
        return rounding.store_threshold(self.gl)

    @cached_property
    def sum_threshold(self) -> float:
        """Fraction of the last bit from which an addition rounds up, measured once by ``rounding.sum_threshold``."""
        from glsl_infer.gl import rounding

        self.make_current()
        self.owner = None
        return rounding.sum_threshold(self.gl)

    @property
    def forked(self) -> bool:
        """True for a copy in a forked process. It cannot be used, and closing it does not affect the original."""
        return _forked()

    def make_current(self) -> None:
        """Make the context current in the calling thread.

        Raises:
            ContextError: the context is closed, belongs to another thread, or is a copy in a forked process.
        """
        if self._closed:
            raise ContextError("the OpenGL context is closed")
        if _forked():
            raise ContextError(_FORKED)
        self.require_thread()
        if not self.native.is_current():
            self._switch()
        while self._pending:
            self._pending.pop()()

    def require_thread(self) -> None:
        """Refuse a thread other than the context's own; after its end, the next caller's thread becomes its own.

        Raises:
            ContextError: the context belongs to another thread.
        """
        current = threading.current_thread()
        if current is not self._thread:
            if self._thread.is_alive():
                raise ContextError(
                    f"the OpenGL context belongs to the thread '{self._thread.name}', not to '{current.name}': "
                    "give each thread its own Session"
                )
            self._thread = current

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
        """Register a function that deletes GL objects, to be called when the context is next made current.

        Python can collect objects in any thread, between any two GL calls, so their destructors must not call GL. If
        the context is destroyed first, the function is not called.
        """
        self._pending.append(free)

    @property
    def closed(self) -> bool:
        """True once the context is destroyed."""
        return self._closed

    def __del__(self) -> None:
        if self._closed or sys.is_finalizing() or _forked():
            return
        self._destroy()
        if not self.adopted:
            warn_unclosed(f"OpenGL context ({self.how})", self)

    def close(self) -> None:
        """Destroy the context and all its objects. Further calls have no effect.

        Raises:
            ContextError: the context belongs to another thread.
        """
        if not _forked():
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
    """Leave this thread without a current context of this module.

    EGL and GLX (of X11 windows) refuse to make a context current while the other has one.
    """
    if _thread.native is not None and _thread.native.is_current():
        _thread.native.release()
    _thread.native = None
