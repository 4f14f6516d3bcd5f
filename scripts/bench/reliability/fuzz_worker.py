"""The process that tests changed bundles one after the other, started and monitored by ``fuzz.py``.

    python fuzz_worker.py JOB.json

It prints a JSON line before each file (its number and kind) and one after it (the result). A reader of these lines can
identify the file that crashed or hung: it is in the job's folder.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import trial
from hypothesis import HealthCheck, Phase, given, seed, settings
from mutations import Mutated, mutated

from glsl_infer import bundle as bundles
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session

CHUNK = 100
"""Files between two checks of the time; Hypothesis creates each chunk from a different seed."""


def work(job: dict[str, Any]) -> None:
    """Test files until the time is over.

    Args:
        job: ``folder`` for files; ``sources``, paths of sound bundles; ``seed``; ``seconds``; ``gl``, whether to run
            them; ``kinds``, the kinds of changes; ``memory``, bytes of address space allowed beyond those of the start.
    """
    folder, deadline = Path(job["folder"]), time.monotonic() + job["seconds"]
    sources = [Path(name) for name in job["sources"]]
    strategy = mutated([path.read_bytes() for path in sources], job["kinds"])
    context = Context() if job["gl"] else None
    before = [_logits(path, context) for path in sources]  # loads everything
    soft = _status("VmSize") + job["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (soft, resource.getrlimit(resource.RLIMIT_AS)[1]))
    _say({"start_rss": _status("VmRSS")})
    path, number = folder / "current.glslnn", 0

    def attempt(mutated: Mutated) -> None:
        nonlocal number
        if time.monotonic() > deadline:
            return
        number += 1
        path.write_bytes(mutated.data)
        _say({"kind": mutated.kind})
        started = time.monotonic()
        try:
            verdict = trial.check(path, context)
        except Exception:
            _say({"finding": traceback.format_exc()})
        else:
            _say({"verdict": verdict, "s": time.monotonic() - started})

    chunk = 0
    while time.monotonic() < deadline:
        options = settings(
            max_examples=CHUNK,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        seed(job["seed"] * 1_000_003 + chunk)(options(given(strategy)(attempt)))()
        chunk += 1
    after = [_logits(path, context) for path in sources]
    same = all(np.array_equal(a, b) for a, b in zip(before, after))
    _say({"peak_rss": _status("VmHWM"), "sound_bundles_as_before": same})


def _logits(path: Path, context: Context | None) -> Any:
    bundle = bundles.read(path)
    if context is None:
        return np.zeros(0)
    size = bundle.manifest.input.size
    with Session(bundle, context=context, cache=False) as session:
        return session.run(np.full((size, size, 3), 77, np.uint8))


def _status(key: str) -> int:
    """Return the value of a key in /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{key}:"))


def _say(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    work(json.loads(Path(sys.argv[1]).read_text("utf-8")))
