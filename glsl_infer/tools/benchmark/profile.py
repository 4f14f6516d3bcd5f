"""GPU time of each layer, by timer queries or by glFinish."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from glsl_infer.errors import RunError
from glsl_infer.gl import timer_queries
from glsl_infer.gl.timer_queries import TimerQueries
from glsl_infer.program.texels import shape_of
from glsl_infer.runtime.inputs import Named
from glsl_infer.runtime.session import Session
from glsl_infer.support.progress import CountCallback
from glsl_infer.tools.benchmark.frames import milliseconds, summary

FINISHES = "glFinish before and after each layer"
QUERIES = timer_queries.EXTENSION
"""The two methods of measurement, as named in the result."""


def profile(
    session: Session, inputs: Named, runs: int, warm_up: int, progress: CountCallback, *, queries: bool | None = None
) -> dict[str, Any]:
    """Draw layer by layer, and time each.

    Args:
        session: the session; its context is made current.
        inputs: inputs of the model, by name.
        runs: number of counted frames.
        warm_up: number of uncounted frames before them.
        progress: called with 1 after every frame.
        queries: whether to use the driver's timer queries; by default if it supports them.

    Returns:
        ``by``, the method; ``runs``; ``sum_ms``, the sum of all layers' medians; and ``layers``, in order: ``layer``,
        ``op``, ``shape`` of the output, ``draws``, ``ms`` (a summary), ``share`` of the sum.

    Raises:
        RunError: the GPU's clock was disturbed in every run.
    """
    manifest = session.bundle.manifest
    names = list(dict.fromkeys(draw.layer for draw in manifest.passes))
    by_query = timer_queries.available(session.context) if queries is None else queries
    timed: list[Sequence[float]] = []
    with TimerQueries(session.context, len(names) if by_query else 0) as clock:
        for index in range(warm_up + runs):
            session.upload(inputs)
            session.context.gl.Finish()
            seconds = _by_query(session, names, clock) if by_query else _by_finish(session, names)
            if index >= warm_up and seconds is not None:
                timed.append(seconds)
            progress(1)
    if not timed:
        raise RunError("the GPU's clock was disturbed in every run (it may change its frequency); try again")
    rows = [summary([milliseconds(seconds[index]) for seconds in timed]) for index in range(len(names))]
    total = sum(row["median"] for row in rows)
    layers = {layer.name: layer for layer in session.bundle.network.layers}
    draws = {name: sum(draw.layer == name for draw in manifest.passes) for name in names}
    return {
        "by": QUERIES if by_query else FINISHES,
        "runs": len(timed),
        "sum_ms": round(total, 3),
        "layers": [
            {
                "layer": name,
                "op": layers[name].op,
                "shape": list(shape_of(layers[name].output)),
                "draws": draws[name],
                "ms": row,
                "share": row["median"] / total if total else 0.0,
            }
            for name, row in zip(names, rows)
        ],
    }


def _by_query(session: Session, names: Sequence[str], clock: TimerQueries) -> Sequence[float] | None:
    for index, name in enumerate(names):
        clock.begin(index)
        session.draw_layer(name)
        clock.end()
    return clock.seconds()


def _by_finish(session: Session, names: Sequence[str]) -> Sequence[float]:
    finish, times = session.context.gl.Finish, [time.perf_counter()]
    for name in names:
        session.draw_layer(name)
        finish()
        times.append(time.perf_counter())
    return [end - start for start, end in zip(times, times[1:])]
