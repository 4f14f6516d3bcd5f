"""One benchmark of one bundle, from reading the file to the last frame."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from glsl_infer import __version__
from glsl_infer.bundle import has_parts, probe, read
from glsl_infer.bundle.cpu_part import CpuPart
from glsl_infer.runtime.inputs import Named
from glsl_infer.runtime.session import Session
from glsl_infer.support.stopwatch import Stopwatch
from glsl_infer.tools.benchmark import frames, machine
from glsl_infer.tools.benchmark.frames import Tell
from glsl_infer.tools.benchmark.profile import profile
from glsl_infer.tools.benchmark.result import FORMAT, VERSION
from glsl_infer.tools.benchmark.summary import milliseconds
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
    tell: Tell = lambda count: None,
) -> dict[str, Any]:
    """Start a bundle as a program would, and time it; the inputs are those of the self-check.

    Args:
        path: a ``.glslnn`` file.
        context: as for ``Session``.
        cache: as for ``Session``, in the usual folder.
        runs: counted frames, at least 1.
        warm_up: frames before those, after the first one.
        layers: time every layer as well, in as many frames more.
        minutes: run for that long as well.
        tell: hears of every frame, and of every second of ``minutes``; ``steps_of`` says how many there will be.

    Returns:
        The result, as result.schema.json describes it; docs/engineering/performance.md says how to read it.

    Raises:
        InputError: numbers that make no sense, or what ``Session`` raises.
    """
    frames.check_counts(runs, warm_up)
    if layers and has_parts(path):
        read(path).require_whole("--profile")
    load = machine.load()
    with Session(path, context=context, cache=cache, isolated="first") as session:
        inputs = inputs_of(session)
        clock = Stopwatch()
        session.run(inputs)
        clock.lap("first_run")
        start = {step: milliseconds(seconds) for step, seconds in {**session.start_up, **clock.laps}.items()}
        runs_ms = frames.series(frames.many(session, inputs, runs, warm_up, tell))
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
        if session.bundle.parts:
            result["parts"] = frames.parts(session, inputs, runs)
        if layers:
            result["profile"] = profile(session, inputs, runs, warm_up, tell)
        if minutes is not None:
            result["sustained"] = sustain(session, inputs, minutes, tell)
        result["counts"] = {**frames.counts(session, inputs), "peak_rss_bytes": machine.peak_rss()}
    return result


def steps_of(runs: int, warm_up: int, layers: bool, minutes: float | None) -> int:
    """Return how often ``measure`` will tell of something."""
    return (runs + warm_up) * (2 if layers else 1) + (0 if minutes is None else int(60 * minutes))


def inputs_of(session: Session) -> Named:
    """Return the inputs that are measured, by name; a GPU takes as long for any."""
    return probe.inputs(session.bundle.manifest.inputs)


def model_of(session: Session) -> dict[str, Any]:
    """Return which model was measured, as plain data."""
    manifest, parts = session.bundle.manifest, session.bundle.parts or (session.bundle,)
    return {
        "file": str(session.bundle.path or ""),
        "name": manifest.name,
        "input": max(max(entry.height, entry.width) for entry in manifest.inputs),
        "layers": sum(len(part.nodes if isinstance(part, CpuPart) else part.network.layers) for part in parts),
    }
