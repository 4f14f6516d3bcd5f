"""Benchmark of one bundle, from reading the file to the last frame."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from glsl_infer import __version__
from glsl_infer.bundle import probe, read
from glsl_infer.bundle.parts import CpuPart
from glsl_infer.runtime.inputs import Named
from glsl_infer.runtime.session import Session
from glsl_infer.support.progress import CountCallback
from glsl_infer.support.stopwatch import Stopwatch
from glsl_infer.tools.benchmark import frames, machine
from glsl_infer.tools.benchmark.frames import milliseconds
from glsl_infer.tools.benchmark.profile import profile
from glsl_infer.tools.benchmark.result import FORMAT, VERSION
from glsl_infer.tools.benchmark.sustained import sustain


def measure(
    path: Path,
    *,
    context: str = "auto",
    cache: bool = True,
    runs: int = 100,
    warm_up: int = 10,
    layers: bool = False,
    minutes: float | None = None,
    progress: CountCallback = lambda count: None,
) -> dict[str, Any]:
    """Start a bundle as a program would, and time it on the inputs of the self-check.

    Args:
        path: a ``.glslnn`` file.
        context: as for ``Session``.
        cache: as for ``Session``, in the default folder.
        runs: counted frames, at least 1.
        warm_up: uncounted frames before those, after the first one.
        layers: whether to time every layer as well, in as many additional frames.
        minutes: duration of an additional sustained run; None omits it.
        progress: called with 1 after every frame, and with the seconds passed in the sustained run; the total is that
            of ``steps_of``.

    Returns:
        The result in the format of result.schema.json; docs/engineering/performance.md explains it.

    Raises:
        InputError: as for ``Session``, or a model with parts cannot be timed layer by layer.
    """
    if layers:
        read(path).require_one_part("--profile")
    load = machine.load()
    with Session(path, context=context, cache=cache) as session:
        inputs = inputs_of(session)
        clock = Stopwatch()
        session.run(inputs)
        clock.lap("first_run")
        start = {step: milliseconds(seconds) for step, seconds in {**session.start_up, **clock.laps}.items()}
        runs_ms = frames.series(frames.many(session, inputs, runs, warm_up, progress))
        result: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "glsl_infer": __version__,
            "measured": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "model": model_of(session),
            "machine": {**machine.describe(session.context), "load_before": load},
            "settings": {"warm_up": warm_up, "runs": runs, "cache": cache},
            "start_ms": {**start, "total": round(sum(time for step, time in start.items() if step != "isolation"), 3)},
            "frame_ms": frames.summaries(runs_ms),
            "runs_ms": runs_ms,
        }
        if len(session.bundle.parts) > 1:
            result["parts"] = frames.parts(session, inputs, runs)
        if layers:
            result["profile"] = profile(session, inputs, runs, warm_up, progress)
        if minutes is not None:
            result["sustained"] = sustain(session, inputs, minutes, progress)
        result["counts"] = {**frames.counts(session, inputs), "peak_rss_bytes": machine.peak_rss()}
    return result


def steps_of(runs: int, warm_up: int, layers: bool, minutes: float | None) -> int:
    """Return the total of the counts that ``measure`` passes to ``progress``."""
    return (runs + warm_up) * (2 if layers else 1) + (0 if minutes is None else int(60 * minutes))


def inputs_of(session: Session) -> Named:
    """Return the inputs to measure with, by name; the time on a GPU does not depend on their values."""
    return probe.inputs(session.bundle.manifest.inputs)


def model_of(session: Session) -> dict[str, Any]:
    """Return the description of the measured model, as plain data."""
    manifest, parts = session.bundle.manifest, session.bundle.parts
    return {
        "file": str(session.bundle.path or ""),
        "name": manifest.name,
        "input": max(max(model_input.height, model_input.width) for model_input in manifest.inputs),
        "layers": sum(len(part.nodes if isinstance(part, CpuPart) else part.network.layers) for part in parts),
    }
