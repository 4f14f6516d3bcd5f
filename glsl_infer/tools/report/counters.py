"""Read the GPU's counters of a frame. ``collect`` starts it as a separate process with the path of a bundle.

It prints a JSON object: the driver's name of each counter -> its value for one frame, or null if unavailable.
"""

from __future__ import annotations

import json
import sys

from glsl_infer.gl import performance_monitor
from glsl_infer.runtime.session import Session
from glsl_infer.support.child_process import exit_code_of
from glsl_infer.tools.benchmark.measuring import inputs_of

FRAMES = 2
"""Frames drawn before: the first ones compile and upload."""


def counters(path: str, context: str) -> dict[str, float | None]:
    """Return the counters of one frame; empty if the driver has no counters.

    Args:
        path: a ``.glslnn`` file.
        context: as for ``Session``.
    """
    with Session(path, context=context, isolated="first") as session:
        if not performance_monitor.available(session.context):
            return {}
        inputs = inputs_of(session)
        for _ in range(FRAMES):
            session.run(inputs)
        return performance_monitor.measure(
            session.context, performance_monitor.counters(session.context), session.submit
        )


def main() -> int:
    """Print the counters of the bundle ``argv[1]`` on the context ``argv[2]``; return the exit code."""
    return exit_code_of(lambda: print(json.dumps(counters(*sys.argv[1:3]))))


if __name__ == "__main__":
    sys.exit(main())
