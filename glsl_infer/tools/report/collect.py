"""Collection of the report. Each part runs in a separate process, in case a driver crashes or hangs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from glsl_infer import __version__
from glsl_infer.bundle import SUFFIX
from glsl_infer.errors import InputError
from glsl_infer.support.child_process import json_answer
from glsl_infer.support.progress import ProgressCallback
from glsl_infer.support.resources import default_model
from glsl_infer.tools.benchmark.machine import cores, load
from glsl_infer.tools.doctor import Machine
from glsl_infer.tools.report.saved import FORMAT, VERSION

PARTS = ("selfcheck", "benchmark", "counters")
"""Parts of the report on each model."""

MOST_SECONDS = 900.0
"""Time limit of a part in seconds: a Pi Zero needs minutes to compile large shaders."""


def default_models() -> list[Path]:
    """Return the models of the package: one in an installed copy, all in a checkout."""
    return sorted(default_model().parent.glob(f"*{SUFFIX}"))


def steps_of(models: Sequence[Path], minutes: float | None) -> int:
    """Return the number of calls of ``progress`` by ``collect``."""
    return 1 + len(PARTS) * len(models) + (minutes is not None)


def collect(
    models: Sequence[Path],
    *,
    context: str = "auto",
    runs: int = 30,
    minutes: float | None = None,
    note: str = "",
    progress: ProgressCallback = lambda words: None,
) -> dict[str, Any]:
    """Return the report as plain data; docs/engineering/boards.md describes it.

    A part that fails is in the report with its message, and does not raise an error.

    Args:
        models: ``.glslnn`` files, at least one.
        context: as for ``Session``.
        runs: counted frames of each model.
        minutes: duration of an additional sustained run of the first model; None omits it.
        note: text of the user, such as "with a heat sink".
        progress: called before every part.

    Raises:
        InputError: a file is missing.
    """
    missing = [str(path) for path in models if not path.is_file()]
    if missing:
        raise InputError(f"no such file: {', '.join(missing)}; give *{SUFFIX} files")
    progress("driver")
    machine = Machine()
    doctor = json_answer("glsl_infer", "doctor", "--json", "--no-selfcheck", "--context", context, seconds=MOST_SECONDS)
    report: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "glsl_infer": __version__,
        "measured": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "note": note,
        "machine": {
            "cpu": machine.cpu_model(),
            "cores": cores(),
            "memory_bytes": machine.memory_total(),
            "load_before": load(),
            "before": machine.state(),
        },
        "driver": doctor.get("driver", doctor),
        "checks": doctor.get("checks", []),
        "models": [],
        "sustained": None,
    }
    for path in models:
        report["models"].append(_model(path, context, runs, progress))
    if minutes is not None:
        progress(f"{models[0].stem}: {minutes:g} minutes without a pause")
        result = json_answer(
            "glsl_infer", "benchmark", str(models[0].resolve()), "--json", "--context", context, "--runs", "1",
            "--minutes", f"{minutes:g}", seconds=MOST_SECONDS + 60.0 * minutes,
        )  # fmt: skip
        report["sustained"] = {"model": models[0].stem, **result.get("sustained", {"failed": result.get("failed")})}
    report["machine"]["after"] = machine.state()
    return report


def _model(path: Path, context: str, runs: int, progress: ProgressCallback) -> dict[str, Any]:
    path_text = str(path.resolve())
    progress(f"{path.stem}: self-check")
    check = json_answer("glsl_infer", "selfcheck", path_text, "--json", "--context", context, seconds=MOST_SECONDS)
    progress(f"{path.stem}: {runs} frames")
    times = json_answer(
        "glsl_infer", "benchmark", path_text, "--json", "--context", context, "--runs", str(runs), seconds=MOST_SECONDS
    )
    progress(f"{path.stem}: the GPU's counters")
    counted = json_answer("glsl_infer.tools.report.counters", path_text, context, seconds=MOST_SECONDS)
    for section in (check, times):
        section.pop("file", None)  # folder names are private
    times.pop("runs_ms", None)
    times.get("model", {}).pop("file", None)
    return {
        "model": path.stem,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "selfcheck": check,
        "benchmark": times,
        "counters": counted,
    }
