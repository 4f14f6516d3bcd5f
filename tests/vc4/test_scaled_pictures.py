"""A picture that shaders scale: two jobs on a VideoCore IV, whose compiler has registers for all sizes of texture."""

from __future__ import annotations

import pytest
from on_driver import lines_of

from glsl_infer import bundle
from glsl_infer.support.resources import default_model
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.transcript import parse

UPLOAD = """
import sys
import numpy as np
from glsl_infer.support.resources import default_model
from glsl_infer.session import Session

with Session(default_model()) as session:
    session.context.gl.Finish()
    print("@begin", file=sys.stderr, flush=True)
    session.upload(np.zeros(({height}, {width}, 3), np.uint8))
    session.context.gl.Finish()
    session.context.gl.check("after scaling")
"""


@pytest.mark.parametrize(("width", "height"), [(64, 64), (640, 480), (1920, 1080), (2048, 2048)])
def test_two_jobs_without_loads(driver: Driver, width: int, height: int) -> None:
    lines = lines_of(driver, UPLOAD.format(width=width, height=height))
    jobs = parse(["@frame", *lines[lines.index("@begin") + 1 :]], ()).frame
    side = bundle.read(default_model()).manifest.input.size
    assert [(job.width, job.height, job.loads) for job in jobs] == [(side, height, False), (side, side, False)]
    assert [job.records for job in jobs] == [1, 1], "a draw each, which the driver did not leave out"
    validated = [line for line in lines if line.startswith("KVALIDATE")]
    assert validated
    assert all(line.startswith("KVALIDATE OK") for line in validated)
