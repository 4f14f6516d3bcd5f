"""The newest frame of a live source: a thread takes all of them, and closes those that nobody asked for in time.

Without it a slow consumer would see frames that are older and older, from a queue that grows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from glsl_infer.support.closing import Closing
from glsl_infer.tools.camera.frame import Frame

_PATIENCE = 0.25
"""Seconds between looks at the clock while there is no frame: signals are handled in between."""


class Latest(Closing):
    """Iterate over it for frames, each newer than the one before. Use it as a context manager, or ``close`` it.

    Frames that it has yielded are for others to close.

    Args:
        frames: is read, and closed, by a thread of its own.

    Attributes:
        dropped: frames that nobody asked for in time.
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
        except BaseException as error:  # belongs to whoever asks for the next frame
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
        """Let the thread end after the frame that it waits for, and wait a moment for that."""
        with self._changed:
            self._closed = True
            frame, self._newest = self._newest, None
        if frame is not None:
            frame.close()
        self._thread.join(2.0)
