"""How long the steps of something take, one after the other."""

from __future__ import annotations

import time


class Stopwatch:
    """Runs from the moment it is made.

    Attributes:
        laps: seconds of each step that has ended, by name, in order; of one that was taken up again, all its seconds.
    """

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a step: all that has been done since the one before it."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._since
        self._since = now
