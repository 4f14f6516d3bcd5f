"""The counted program: from Python's start to bundles' first frames, on the emulated CPU that count starts."""

# ruff: noqa: E402, SIM105 - the imports are counted
from __future__ import annotations

import os
import sys


def mark(frame: int) -> None:
    """Make the plug-in print the number of executed instructions."""
    try:
        os.getpgid(0x7000 + frame)
    except OSError:
        pass


mark(0)
from glsl_infer.support import fast_start

fast_start.begin()  # as commands that use a model
import numpy  # noqa: F401

mark(1)
from glsl_infer.bundle import probe
from glsl_infer.gl.context import Context
from glsl_infer.runtime.session import Session
from glsl_infer.runtime.verdicts import read_bundle

mark(2)
for path in sys.argv[1:]:
    bundle = read_bundle(path)
    inputs = probe.inputs(bundle.manifest.inputs)
    mark(3)
    with Context("surfaceless") as context:
        context.__dict__["rounds_stores"] = False  # not measured without pixels
        mark(4)
        with Session(bundle, context=context) as session:
            mark(5)
            for frame in range(3):
                session.run(inputs)
                mark(6 + frame)
            session.upload(inputs)
            mark(9)
            session.submit()
            mark(10)
