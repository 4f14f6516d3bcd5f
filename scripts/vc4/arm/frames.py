"""What is counted: from Python's start to bundles' first frames. It runs on the emulated CPU; count says how."""

# ruff: noqa: E402, SIM105 - imports are what is counted
from __future__ import annotations

import os
import sys


def mark(number: int) -> None:
    """Have the plug-in print how many instructions have been executed."""
    try:
        os.getpgid(0x7000 + number)
    except OSError:
        pass


mark(0)
import numpy  # noqa: F401

mark(1)
from glsl_infer.bundle import probe
from glsl_infer.gl.context import Context
from glsl_infer.runtime import known_shaders
from glsl_infer.runtime.session import Session

mark(2)
for path in sys.argv[1:]:
    made = known_shaders.read(path)
    inputs = probe.inputs(made.manifest.inputs)
    mark(3)
    with Context("surfaceless") as context:
        context.__dict__["rounds_stores"] = False  # no pixels: what it would measure here is nothing
        mark(4)
        with Session(made, context=context) as session:
            mark(5)
            for frame in range(3):
                session.run(inputs)
                mark(6 + frame)
            session.upload(inputs)
            mark(9)
            session.submit()
            mark(10)
