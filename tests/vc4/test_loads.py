"""Drawing on a target without a clear loads it into the tile buffer, as the kernel's submissions show."""

from __future__ import annotations

import struct
from pathlib import Path

from on_driver import lines_of

from glsl_infer.tools.videocore import Driver
from glsl_infer.tools.videocore.transcript import parse

DRAW_TWICE = """
import numpy as np
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects

VERTEX = b"#version 100\\nattribute vec2 position; void main() { gl_Position = vec4(position, 0.0, 1.0); }"
FRAGMENT = b"#version 100\\nvoid main() { gl_FragColor = vec4(0.5); }"
with Context("surfaceless") as context, Objects(context.gl) as objects:
    gl = context.gl
    gl.BindFramebuffer(GL.GL_FRAMEBUFFER, objects.framebuffer(objects.texture(130, 60)))
    gl.Viewport(0, 0, 130, 60)
    gl.UseProgram(objects.program(VERTEX, FRAGMENT, ["position"], "test"))
    objects.buffer(np.array([-1, -1, 3, -1, -1, 3], "<f4").tobytes())
    gl.VertexAttribPointer(0, 2, GL.GL_FLOAT, 0, 0, None)
    gl.EnableVertexAttribArray(0)
    for clear in (True, False):
        if clear:
            gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.DrawArrays(GL.GL_TRIANGLES, 0, 3)
        objects.read(1, 1)
"""

COLOR_READ = 60
"""Offset in struct drm_vc4_submit_cl of the buffer to load from: an index, or all ones for none."""


def test_loads_are_those_that_the_kernel_is_told(driver: Driver, tmp_path: Path) -> None:
    lines = lines_of(driver, DRAW_TWICE, {"VC4_SHIM_DUMP": str(tmp_path)})
    jobs = parse(["@frame", *lines], ()).frame
    assert [job.loads for job in jobs] == [False, True]
    told = [(tmp_path / f"submit{number}.bin").read_bytes() for number in (1, 2)]
    assert [struct.unpack_from("<I", data, COLOR_READ)[0] != 0xFFFFFFFF for data in told] == [False, True]


def test_tiles_are_those_of_64_pixels_that_the_target_has(driver: Driver) -> None:
    jobs = parse(["@frame", *lines_of(driver, DRAW_TWICE)], ()).frame
    assert [(job.width, job.height, job.tiles, job.records) for job in jobs] == [(130, 60, 3, 1)] * 2
