"""Times of the steps of a frame: upload, submission, the wait for the GPU, read-back."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glsl_infer.runtime.inputs import Named
from glsl_infer.runtime.session import Session
from glsl_infer.runtime.statistics import PartRun
from glsl_infer.support.progress import CountCallback

STEPS = ("upload", "submit", "gpu", "read_back", "total")
"""Measured steps of a frame; ``submit`` is a part of ``gpu``, and the other three add up to ``total``."""


Summary = dict[str, float]
"""``median``, ``p5`` and ``p95``: half, 5 % and 95 % of all values are at most this."""


@dataclass(frozen=True)
class FrameTimes:
    """Seconds of one frame.

    Attributes:
        upload: until the driver has the inputs.
        submit: until the driver has all calls of the frame: the CPU work of Python and the driver.
        gpu: from the first of these calls until everything is drawn (glFinish).
        read_back: until the outputs are in memory as floats.
    """

    upload: float
    submit: float
    gpu: float
    read_back: float

    @property
    def total(self) -> float:
        """Seconds from inputs in memory to the model's output."""
        return self.upload + self.gpu + self.read_back


def timed_frame(session: Session, inputs: Named) -> FrameTimes:
    """Run one frame on inputs by name, and time its steps."""
    finish, clock = session.context.gl.Finish, time.perf_counter
    started = clock()
    session.upload(inputs)
    uploaded = clock()
    session.submit()
    submitted = clock()
    finish()
    drawn = clock()
    session.read_back()
    return FrameTimes(uploaded - started, submitted - uploaded, drawn - uploaded, clock() - drawn)


def many(session: Session, inputs: Named, runs: int, warm_up: int, progress: CountCallback) -> list[FrameTimes]:
    """Run ``warm_up`` frames, then ``runs`` frames; return their times. Call ``progress`` after each frame."""
    for _ in range(warm_up):
        timed_frame(session, inputs)
        progress(1)
    gc.collect()  # so the frames do not include the collection of the start's garbage
    frames = []
    for _ in range(runs):
        frames.append(timed_frame(session, inputs))
        progress(1)
    return frames


def parts(session: Session, inputs: Named, runs: int) -> list[dict[str, Any]]:
    """Run a model with parts, and return the kind, operators, milliseconds and bytes of each part.

    Args:
        session: session of the model.
        inputs: inputs by name.
        runs: number of frames.
    """
    runs_by_frame: list[tuple[PartRun, ...]] = []
    for _ in range(runs):
        session.run(inputs)
        runs_by_frame.append(session.part_runs)
    return [
        {
            "kind": part[0].kind,
            "operators": list(part[0].operators),
            "uploaded": part[0].uploaded,
            "read_back": part[0].read_back,
            "ms": summary([milliseconds(run.seconds) for run in part]),
        }
        for part in zip(*runs_by_frame)
    ]


def series(frames: list[FrameTimes]) -> dict[str, list[float]]:
    """Return the milliseconds of every frame by step."""
    return {step: [milliseconds(getattr(frame, step)) for frame in frames] for step in STEPS}


def summaries(runs_ms: dict[str, list[float]]) -> dict[str, Summary]:
    """Return the summary of every step's milliseconds."""
    return {step: summary(values) for step, values in runs_ms.items()}


def counts(session: Session, inputs: Named) -> dict[str, Any]:
    """Run a frame and count its draws, jobs, programs, GL calls by step and by name, and textures."""
    gl = session.context.gl
    session.activate()  # exclude the calls of a session that takes over the context
    with gl.counting() as upload:
        session.upload(inputs)
    with gl.counting() as submitted:
        if len(session.bundle.parts) > 1:
            session.submit()
        else:
            for function, arguments in session.frame:  # recorded functions would be called without the counters
                gl.by_name(function)(*arguments)
    with gl.counting() as read_back:
        session.read_back()
    steps = {"upload": upload, "frame": submitted, "read_back": read_back}
    statistics = session.statistics()
    return {
        "draws": statistics.passes,
        "jobs": statistics.jobs,
        "programs": statistics.programs,
        "programs_restored": session.restored_programs,
        "gl_calls": {step: sum(calls.values()) for step, calls in steps.items()},
        "gl_calls_of_frame": dict(submitted.most_common()),
        "textures": sum(len(part.manifest.textures) for part in session.bundle.gpu_parts),
        "texture_bytes": statistics.texture_bytes,
    }


def summary(values: Sequence[float]) -> Summary:
    """Return the summary of at least one value; percentiles are interpolated between two values."""
    low, median, high = np.percentile(np.asarray(values, np.float64), (5.0, 50.0, 95.0))
    return {"median": float(median), "p5": float(low), "p95": float(high)}


def milliseconds(seconds: float) -> float:
    """Return a time in ms, rounded to a microsecond, the resolution of the measurements."""
    return round(1e3 * seconds, 3)
