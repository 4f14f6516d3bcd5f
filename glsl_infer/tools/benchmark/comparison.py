"""Comparison of two results or two bundles, as ratios, because the speed of a machine varies from day to day."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from glsl_infer import __version__
from glsl_infer.bundle import SUFFIX
from glsl_infer.errors import InputError
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.support.progress import CountCallback
from glsl_infer.tools.benchmark import frames, machine
from glsl_infer.tools.benchmark.frames import STEPS, FrameTimes, Summary, summary
from glsl_infer.tools.benchmark.measuring import inputs_of, model_of

FORMAT = "glsl-infer comparison"
VERSION = 1


def are_bundles(a: Path, b: Path) -> bool:
    """Return whether two files are bundles rather than saved results, by their names.

    Raises:
        InputError: one of each.
    """
    kinds = [path.suffix == SUFFIX for path in (a, b)]
    if kinds[0] != kinds[1]:
        raise InputError(f"--compare {a} {b}: give two *{SUFFIX} files, or two results saved with --json")
    return kinds[0]


def bundles(a: Path, b: Path, *, context: str, runs: int, warm_up: int, progress: CountCallback) -> dict[str, Any]:
    """Run two bundles in one context, alternating after each frame: A B A B.

    Args:
        a: a ``.glslnn`` file.
        b: another, or the same.
        context: as for ``Session``.
        runs: counted frames of each.
        warm_up: uncounted frames of each before them.
        progress: called with 1 after every frame, ``2 * (runs + warm_up)`` times.

    Returns:
        As ``results``; the ratio is that of each pair of successive frames.

    Raises:
        InputError: a file cannot be used.
    """
    with contextlib.ExitStack() as stack:
        shared = stack.enter_context(Context(context))
        sessions = [stack.enter_context(Session(path, context=shared)) for path in (a, b)]
        session_inputs = [inputs_of(session) for session in sessions]
        timed: list[list[FrameTimes]] = [[], []]
        for index in range(warm_up + runs):
            for session, inputs, seconds in zip(sessions, session_inputs, timed):
                session.activate()  # not counted: a program with one model does it once
                frame = frames.timed_frame(session, inputs)
                if index >= warm_up:
                    seconds.append(frame)
                progress(1)
        series = [frames.series(frame_times) for frame_times in timed]
        ratio = {
            step: summary([_ratio(of_b, of_a) for of_a, of_b in zip(series[0][step], series[1][step])])
            for step in STEPS
        }
        sides = [
            {"file": str(path), "model": model_of(session), "frame_ms": frames.summaries(times)}
            for path, session, times in zip((a, b), sessions, series)
        ]
        return {**_compared(sides, ratio, paired=True), "machine": machine.describe(shared), "runs": runs}


def results(a: Path, b: Path, saved: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """Compare two saved results.

    Returns:
        ``a`` and ``b`` with ``file``, ``model`` and ``frame_ms``, and ``ratio``, B's time divided by A's for every
        step: of the medians, and the smallest (``p5``) and largest (``p95``) ratio of the two spreads; ``paired``
        is False.
    """
    sides = [
        {"file": str(path), "model": result["model"], "frame_ms": result["frame_ms"]}
        for path, result in zip((a, b), saved)
    ]
    ratio = {}
    for step in STEPS:
        of_a, of_b = (result["frame_ms"][step] for result in saved)
        ratio[step] = {
            "median": _ratio(of_b["median"], of_a["median"]),
            "p5": _ratio(of_b["p5"], of_a["p95"]),
            "p95": _ratio(of_b["p95"], of_a["p5"]),
        }
    return _compared(sides, ratio, paired=False)


def differences(saved: tuple[dict[str, Any], dict[str, Any]]) -> list[str]:
    """Return descriptions of the differences between the machines of two results, if they affect times."""
    names = {"renderer": "driver", "version": "driver version", "cpu": "CPU", "cores": "CPU cores", "python": "Python"}
    first, second = (result["machine"] for result in saved)
    return [
        f"{word}: {first.get(key)} and {second.get(key)}"
        for key, word in names.items()
        if first.get(key) != second.get(key)
    ]


def _compared(sides: list[dict[str, Any]], ratio: dict[str, Summary], *, paired: bool) -> dict[str, Any]:
    """Return the fields that both kinds of comparison have."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "glsl_infer": __version__,
        "paired": paired,
        "a": sides[0],
        "b": sides[1],
        "ratio": ratio,
    }


def _ratio(time: float, base: float) -> float:
    """Return ``time / base``; both are at least a microsecond, the resolution of the times."""
    return max(time, 1e-3) / max(base, 1e-3)
