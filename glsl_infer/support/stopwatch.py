"""Time the consecutive steps of an operation."""

from __future__ import annotations

import time


class Stopwatch:
    """Stopwatch, which starts when it is created.

    Attributes:
        laps: seconds of each finished step, by name, in order. A repeated name adds to its time.
    """

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a step. It began at the previous ``lap``, or with the stopwatch."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._since
        self._since = now
