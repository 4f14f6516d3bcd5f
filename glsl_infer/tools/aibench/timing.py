"""Tests 1 to 8: time of an image, by the paper's rules."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from glsl_infer.errors import RunError
from glsl_infer.runtime.session import Session
from glsl_infer.tools.benchmark.frames import timed_frame

WARM_UP = 2
"""First images excluded from the mean, if there are more."""

MOST_PICTURES = 200


@dataclass(frozen=True)
class Timed:
    """Times of a test.

    Attributes:
        pictures: number of images processed.
        ms: mean milliseconds of the counted images.
        first: milliseconds until the first result: file, context, shaders and image.
    """

    pictures: int
    ms: float
    first: float


def mean_of(seconds: list[float]) -> float:
    """Return the mean without the first two images; of one or two images, return the last."""
    return float(np.mean(seconds[min(WARM_UP, len(seconds) - 1) :]))


def timed(session: Session, limit: float, started: float, most: int = MOST_PICTURES) -> Timed:
    """Run as many images as fit into the limit, after the first, in which the driver still compiles shaders.

    Args:
        session: session of the network; the input is the bundle's own test image.
        limit: time limit in seconds.
        started: start of the test, before the session was opened, by ``time.perf_counter``.
        most: largest number of images.

    Raises:
        RunError: an image takes longer than the limit.
    """
    inputs = {
        model_input.name: session.input_pixels(model_input.name) for model_input in session.bundle.manifest.inputs
    }
    seconds = [timed_frame(session, inputs).total]
    begun = time.perf_counter()
    first = begun - started
    while len(seconds) < most and (len(seconds) < 2 or time.perf_counter() - begun + seconds[-1] <= limit):
        seconds.append(timed_frame(session, inputs).total)
        if seconds[-1] > limit:
            raise RunError(f"an image takes {seconds[-1]:.1f} s, and the test's limit is {limit:g} s")
    return Timed(len(seconds), 1000.0 * mean_of(seconds), 1000.0 * first)
