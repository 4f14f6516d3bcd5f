"""Frames on their way: the GPU computes one while the CPU makes the next ready and reads the last.

What one frame writes while another is still read, the textures of inputs and outputs, exists twice: a frame lies in
one of two slots. All else is shared, for a GPU draws one frame after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from glsl_infer.errors import InputError, RunError
from glsl_infer.gl.fences import Fence
from glsl_infer.gl.handles import Handles
from glsl_infer.runtime.frame import Call

Wait = Literal["sleep", "spin"]
"""How to wait for the GPU: ``sleep`` takes least power, ``spin`` least time (and a CPU core)."""

WAITS = ("sleep", "spin")

Result = TypeVar("Result")

SLOTS = 2
"""How many frames are on their way at most: one is drawn, one is read."""


@dataclass
class Slot:
    """Where a frame lies.

    Attributes:
        handles: the GL names of everything that its passes refer to.
        calls: the GL calls that draw it.
        frame: the frame in it whose output has not been read.
    """

    handles: Handles
    calls: Sequence[Call]
    frame: PendingFrame[Any] | None = None


class PendingFrame(Generic[Result]):
    """A frame that the GPU was given; ``Session.run_async`` makes it."""

    def __init__(
        self,
        collect: Callable[[PendingFrame[Any], Wait], None],
        read: Callable[[], Result],
        fence: Fence | None,
    ) -> None:
        self._collect: Callable[[PendingFrame[Any], Wait], None] | None = collect
        self._read: Callable[[], Result] | None = read
        self._fence = fence
        self._output: Result | None = None
        self._lost = False

    def done(self) -> bool:
        """Return at once whether ``result`` would not have to wait for the GPU.

        Where the driver has no fences nobody knows, and it is False until the output has been read.
        """
        return self._output is not None or self._lost or (self._fence is not None and self._fence.passed())

    def result(self, wait: Wait = "sleep") -> Result:
        """Wait for the frame, and return what ``Session.run`` returns; again the same when asked again.

        Args:
            wait: ``sleep`` or ``spin``; without fences, the driver's own way to wait for what is read.

        Raises:
            InputError: another word for ``wait``.
            RunError: the session was closed before the frame was read.
            ContextError: called in another thread than the session's.
        """
        check_wait(wait)
        if self._output is None and self._collect is not None:
            self._collect(self, wait)
        if self._output is None:
            raise RunError("the session was closed before this frame was read; ask for its result before")
        return self._output

    def _finish(self, wait: Wait) -> None:
        """Wait and read; the context must be the session's."""
        if self._fence is not None:
            (self._fence.spin if wait == "spin" else self._fence.sleep)()
        assert self._read is not None  # it is there until the frame is read or lost
        self._output = self._read()
        self._release()

    def _lose(self) -> None:
        """Give the frame up unread."""
        self._lost = self._output is None
        self._release()

    def _release(self) -> None:
        self._collect = self._read = None  # which keep the session's textures in mind
        if self._fence is not None:
            self._fence.close()
            self._fence = None


def finished(result: Result) -> PendingFrame[Result]:
    """Return a frame that is computed already."""
    frame: PendingFrame[Result] = PendingFrame(lambda frame, wait: None, lambda: result, None)
    frame._finish("sleep")
    return frame


class Pipeline:
    """The slots of a session, which take turns.

    Args:
        first: the slot of the session's own textures.
        another: makes one more, when it is needed first.
        activate: makes the context current and the session's.
        fences: whether there are fences.
    """

    def __init__(
        self,
        first: Slot,
        another: Callable[[], Slot],
        activate: Callable[[], None],
        fences: bool,
    ) -> None:
        self._slots, self._another = [first], another
        self._activate, self._fences = activate, fences
        self._turn = 0

    def next(self) -> Slot:
        """Return the slot whose turn it is; what an older frame left in it is read before."""
        if len(self._slots) < SLOTS:
            self._slots.append(self._another())
        slot = self._slots[self._turn]
        self._turn = (self._turn + 1) % SLOTS
        self._settle(slot, "sleep")
        return slot

    def submitted(self, slot: Slot, read: Callable[[Handles], Result]) -> PendingFrame[Result]:
        """Return the frame whose calls were just made for ``slot``; ``read`` reads the outputs that lie in a slot."""
        fence = Fence() if self._fences else None
        frame = PendingFrame(self._collect, lambda: read(slot.handles), fence)
        slot.frame = frame
        return frame

    def settle(self) -> None:
        """Read all frames that are on their way, so that every slot is free."""
        for step in range(len(self._slots)):
            self._settle(self._slots[(self._turn + step) % len(self._slots)], "sleep")

    def close(self) -> None:
        """Give up what has not been read; the slots' textures are the session's to delete."""
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
    """Refuse a word that is no way to wait.

    Raises:
        InputError: naming those that are.
    """
    if wait not in WAITS:
        raise InputError(f"wait={wait!r}; choose one of {', '.join(WAITS)}")
