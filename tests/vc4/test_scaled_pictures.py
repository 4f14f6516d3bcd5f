"""An image scaled by shaders takes two jobs on a VideoCore IV, and compiles for all sizes of texture."""

from __future__ import annotations

import pytest
from on_driver import lines_of

from glsl_infer import bundle
from glsl_infer.support.resources import default_model
from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.transcript import parse

pytestmark = pytest.mark.exhaustive

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


TAPS = """
import sys
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects
from glsl_infer.runtime.drivers import LATE_FETCH
from glsl_infer.support.resources import template

with Context("surfaceless") as context, Objects(context.gl) as objects:
    framebuffer, texture = objects.framebuffer(objects.texture(8, 8)), objects.texture(8, 8)
    for taps in {taps}:
        text = template("prelude.glsl") + LATE_FETCH + template("store.glsl") + f"#define TAPS {{taps}}\\n"
        text += template("area_average.frag")
        program = objects.program(template("resample.vert").encode(), text.encode(), ["position"], "scaling")
        context.gl.UseProgram(program)
        context.gl.BindFramebuffer(0x8D40, framebuffer)
        context.gl.BindTexture(0x0DE1, texture)
        context.gl.DrawArrays(4, 0, 6)
        context.gl.Finish()
"""


def test_any_number_of_taps_has_registers(driver: Driver) -> None:
    """Any number of taps compiles: Mesa unrolls up to 27 iterations, and 24 and more once ran out of registers."""
    lines = lines_of(driver, TAPS.format(taps=[2, 3, 8, 16, 23, 24, 25, 26, 27, 28, 40, 66]))
    assert [line for line in lines if "Failed to register allocate" in line] == []
    assert len([line for line in lines if line.startswith("KVALIDATE OK")]) >= 12
