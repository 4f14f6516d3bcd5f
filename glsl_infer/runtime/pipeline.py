"""Frames in flight: the GPU computes one while the CPU prepares the next and reads the last.

The textures of inputs and outputs exist twice, because one frame writes them while the other is still read. Each frame
uses one of two slots. Everything else is shared, because a GPU draws one frame after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar

from glsl_infer.errors import InputError, RunError
from glsl_infer.gl.fences import Fence
from glsl_infer.gl.objects import Handles
from glsl_infer.runtime.frame import Call

Wait = Literal["sleep", "spin"]
"""Method of waiting for the GPU: ``sleep`` takes least power, ``spin`` least time (and a CPU core)."""

WAITS = ("sleep", "spin")

Result = TypeVar("Result")

SLOTS = 2
"""Maximum number of frames in flight: one is drawn, one is read."""


class Slot:
    """Resources of one frame in flight.

    Args:
        handles: the GL names of all objects in its passes.
        calls: the GL calls to draw it.

    Attributes:
        frame: the frame in the slot, until its output has been read.
    """

    def __init__(self, handles: Handles, calls: Sequence[Call]) -> None:
        self.handles, self.calls = handles, calls
        self.frame: PendingFrame[Any] | None = None


class PendingFrame(Generic[Result]):
    """A frame submitted to the GPU, returned by ``Session.run_async``."""

    def __init__(
        self,
        collect: Callable[[PendingFrame[Any], Wait], None],
        read: Callable[[], Result],
        fence: Fence | None,
        require_thread: Callable[[], None],
    ) -> None:
        self._collect: Callable[[PendingFrame[Any], Wait], None] | None = collect
        self._read: Callable[[], Result] | None = read
        self._fence, self._require_thread = fence, require_thread
        self._output: Result | None = None
        self._lost = False

    def done(self) -> bool:
        """Return at once whether ``result`` would return without waiting for the GPU.

        Without fences this is unknown, and the method returns False until the output has been read.

        Raises:
            ContextError: called in another thread than the session's.
        """
        if self._fence is None:
            return self._output is not None or self._lost
        self._require_thread()
        return self._fence.passed()

    def result(self, wait: Wait = "sleep") -> Result:
        """Wait for the frame, and return the same as ``Session.run``; further calls return the same result.

        Args:
            wait: ``sleep`` or ``spin``; without fences, the driver waits in its own way for the read-back.

        Raises:
            InputError: ``wait`` is neither ``sleep`` nor ``spin``.
            RunError: the session was closed before the frame was read.
            ContextError: called in another thread than the session's.
        """
        check_wait(wait)
        if self._output is None and self._collect is not None:
            self._collect(self, wait)
        if self._output is None:
            raise RunError("the session was closed before this frame was read; get its result before")
        return self._output

    def _finish(self, wait: Wait) -> None:
        """Wait and read; the session must be active."""
        if self._fence is not None:
            (self._fence.spin if wait == "spin" else self._fence.sleep)()
        assert self._read is not None  # set until the frame is read or lost
        self._output = self._read()
        self._release()

    def _lose(self) -> None:
        """Abandon the frame unread."""
        self._lost = self._output is None
        self._release()

    def _release(self) -> None:
        self._collect = self._read = None  # both refer to the session's textures
        if self._fence is not None:
            self._fence.close()
            self._fence = None


def finished(result: Result) -> PendingFrame[Result]:
    """Return a frame that is already computed."""
    frame: PendingFrame[Result] = PendingFrame(lambda frame, wait: None, lambda: result, None, lambda: None)
    frame._finish("sleep")
    return frame


class Pipeline:
    """The slots of a session, used in turn.

    Args:
        first: the slot of the session's own textures.
        another: creates a further slot at its first use.
        activate: activates the session in the context.
        fences: whether the driver has fences.
        require_thread: raises an error in another thread than the session's.
    """

    def __init__(
        self,
        first: Slot,
        another: Callable[[], Slot],
        activate: Callable[[], None],
        fences: bool,
        require_thread: Callable[[], None],
    ) -> None:
        self._slots, self._another = [first], another
        self._activate, self._fences, self._require_thread = activate, fences, require_thread
        self._turn = 0

    def next(self) -> Slot:
        """Return the next slot. If it contains an older frame, read that frame first."""
        if len(self._slots) < SLOTS:
            self._slots.append(self._another())
        slot = self._slots[self._turn]
        self._turn = (self._turn + 1) % SLOTS
        self._settle(slot, "sleep")
        return slot

    def submitted(self, slot: Slot, read: Callable[[Handles], Result]) -> PendingFrame[Result]:
        """Return the frame whose calls were just issued for ``slot``; ``read`` reads the outputs of a slot."""
        fence = Fence() if self._fences else None
        frame = PendingFrame(self._collect, lambda: read(slot.handles), fence, self._require_thread)
        slot.frame = frame
        return frame

    def settle(self) -> None:
        """Read all frames in flight, so that every slot is free."""
        for step in range(len(self._slots)):
            self._settle(self._slots[(self._turn + step) % len(self._slots)], "sleep")

    def close(self) -> None:
        """Abandon unread frames; the session deletes the slots' textures."""
        for slot in self._slots:
            if slot.frame is not None:
                slot.frame._lose()
                slot.frame = None

    def _collect(self, frame: PendingFrame[Any], wait: Wait) -> None:
        for slot in self._slots:
            if slot.frame is frame:
                self._settle(slot, wait)

    def _settle(self, slot: Slot, wait: Wait) -> None:
        if slot.frame is not None:
            self._activate()
            slot.frame._finish(wait)
            slot.frame = None


def check_wait(wait: str) -> None:
    """Refuse an unknown method of waiting.

    Raises:
        InputError: the message lists the methods.
    """
    if wait not in WAITS:
        raise InputError(f"wait={wait!r}; choose one of {', '.join(WAITS)}")
