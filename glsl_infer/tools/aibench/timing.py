"""Tests 1 to 8: the time of a picture, by the paper's rules."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from glsl_infer.errors import RunError
from glsl_infer.runtime.session import Session
from glsl_infer.tools.benchmark.frames import timed_frame

WARM_UP = 2
"""Pictures that do not count where more were done."""

MOST_PICTURES = 200


@dataclass(frozen=True)
class Timed:
    """What a test took.

    Attributes:
        pictures: that were done.
        ms: milliseconds a picture, in the mean of those that count.
        first: milliseconds until the first result: file, context, shaders and picture.
    """

    pictures: int
    ms: float
    first: float


def mean_of(seconds: list[float]) -> float:
    """Return the mean, without the first two where more than two pictures were done, else without the first."""
    return float(np.mean(seconds[min(WARM_UP, len(seconds) - 1) :]))


def timed(session: Session, limit: float, started: float, most: int = MOST_PICTURES) -> Timed:
    """Run as many pictures as fit into the limit, after the first: in that the driver compiles what it has not yet.

    Args:
        session: of the network; the picture is the bundle's own test picture.
        limit: seconds.
        started: when the test began, by ``time.perf_counter``, before the session was opened.
        most: pictures after which to stop in any case.

    Raises:
        RunError: a picture takes longer than the limit.
    """
    inputs = {entry.name: session.input_pixels(entry.name) for entry in session.bundle.manifest.inputs}
    seconds = [timed_frame(session, inputs).total]
    begun = time.perf_counter()
    first = begun - started
    while len(seconds) < most and (len(seconds) < 2 or time.perf_counter() - begun + seconds[-1] <= limit):
        seconds.append(timed_frame(session, inputs).total)
        if seconds[-1] > limit:
            raise RunError(f"a picture takes {seconds[-1]:.1f} s, and the test's limit is {limit:g} s")
    return Timed(len(seconds), 1000.0 * mean_of(seconds), 1000.0 * first)
