"""Newest frame of a live source: a thread reads all frames, and closes those not requested in time.

Without it, a slow consumer would get older and older frames from a growing queue.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from glsl_infer.support.closing import Closing
from glsl_infer.tools.camera.frame import Frame

_PATIENCE = 0.25
"""Seconds between wake-ups while waiting for a frame, so signals are handled."""


class Latest(Closing):
    """Iterator over frames, each newer than the previous one. Use it as a context manager, or ``close`` it.

    The caller must close the frames that it yields.

    Args:
        frames: iterator, read and closed by a separate thread.

    Attributes:
        dropped: number of frames not requested in time.
    """

    def __init__(self, frames: Iterator[Frame]) -> None:
        self.dropped = 0
        self._frames = frames
        self._changed = threading.Condition()
        self._newest: Frame | None = None
        self._error: BaseException | None = None
        self._over = self._closed = False
        self._thread = threading.Thread(target=self._read, name="camera", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for frame in self._frames:
                with self._changed:
                    closed = self._closed
                    unwanted = frame if closed else self._newest
                    if not closed:
                        self.dropped += unwanted is not None
                        self._newest = frame
                        self._changed.notify()
                if unwanted is not None:
                    unwanted.close()
                if closed:
                    break
        except BaseException as error:  # raised in the thread that requests the next frame
            self._error = error
        finally:
            close = getattr(self._frames, "close", None)
            if close is not None:
                close()
            with self._changed:
                self._over = True
                self._changed.notify()

    def __iter__(self) -> Iterator[Frame]:
        while True:
            with self._changed:
                while self._newest is None and not self._over:
                    self._changed.wait(_PATIENCE)
                frame, self._newest = self._newest, None
            if frame is None:
                if self._error is not None:
                    raise self._error
                return
            yield frame

    def close(self) -> None:
        """Stop the thread after the frame it waits for, and wait up to 2 seconds for its end."""
        with self._changed:
            self._closed = True
            frame, self._newest = self._newest, None
        if frame is not None:
            frame.close()
        self._thread.join(2.0)
