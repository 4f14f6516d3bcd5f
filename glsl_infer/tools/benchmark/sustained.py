"""Frames without a pause for minutes, to measure the speed of a warm GPU."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from glsl_infer.runtime.inputs import Named
from glsl_infer.runtime.session import Session
from glsl_infer.support.progress import CountCallback
from glsl_infer.tools.benchmark.frames import milliseconds, summary, timed_frame

WINDOWS = 120
"""Largest number of windows of equal length in a run; a window has at least a second."""

SHARE_OF_END = 0.1
"""Share of the windows at either end compared by ``slowdown``."""


def sustain(session: Session, inputs: Named, minutes: float, progress: CountCallback) -> dict[str, Any]:
    """Run frames for some minutes.

    Args:
        session: the session to measure.
        inputs: inputs of the model, by name.
        minutes: duration, above 0; the frame that crosses the end is the last.
        progress: called with the seconds passed, at least a second apart.

    Returns:
        ``minutes``, ``runs``, ``ms`` (a summary of all frames), ``windows``: for each window with a frame ``from_s``,
        its beginning, ``runs`` and ``ms``; and ``slowdown`` of the windows' medians, see ``slowdown``.
    """
    length, reported = 60.0 * minutes, 0
    count = max(1, min(WINDOWS, int(length)))
    seconds: dict[int, list[float]] = {}
    started = time.perf_counter()
    while (elapsed := time.perf_counter() - started) < length or not seconds:
        frame = timed_frame(session, inputs)
        window = min(int(elapsed / length * count), count - 1)
        seconds.setdefault(window, []).append(milliseconds(frame.total))
        if int(elapsed) > reported:
            progress(int(elapsed) - reported)
            reported = int(elapsed)
    windows: list[dict[str, Any]] = [
        {"from_s": round(index * length / count, 3), "runs": len(values), "ms": summary(values)}
        for index, values in seconds.items()
    ]
    everything = [value for values in seconds.values() for value in values]
    return {
        "minutes": minutes,
        "runs": len(everything),
        "ms": summary(everything),
        "windows": windows,
        "slowdown": slowdown([window["ms"]["median"] for window in windows]),
    }


def slowdown(medians: list[float]) -> float:
    """Return the ratio of the last tenth of some medians (at least one) to the first tenth."""
    count = max(1, round(SHARE_OF_END * len(medians)))
    return float(np.median(medians[-count:]) / np.median(medians[:count]))
