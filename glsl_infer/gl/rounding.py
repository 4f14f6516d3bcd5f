"""Measure the rounding of RGBA8 stores and of additions, which no GL query reports.

Stores of Mesa's software drivers round to nearest, at half a step. An NVIDIA H200 rounds up from 0.505 to 0.56 of a
step, depending on the byte. On such drivers, shaders round themselves (shaders/store.glsl). Then the largest
error of a layer of the shipped model on the H200 was 0.5001 of a step, as on Mesa.

VideoCore IV truncates sums toward zero. Its shaders correct the bias (``lowering.truncation``), unless this test finds
that the device rounds.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.objects import Objects
from glsl_infer.support.ndarray import NDArray

STEPS = 200
LEVELS = (2, 60, 100, 130, 200, 250)
"""Bytes at which the threshold to the next byte is measured."""

TOLERANCE = 0.01
"""Largest distance from 0.5 of a threshold that counts as rounding to nearest. The measurement's resolution is half of
it."""

ROUND_STORES = "#define ROUND_STORES\n"

UNIT_SPACING = 2.0**23
"""A float32 whose successor is larger by 1. The sum with a fraction shows the rounding."""

_VERTEX = b"""#version 100
attribute vec2 position;
varying float x;
void main() {
    x = position.x * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
"""
# x is never negative, so max() has no effect on the result. It has one on the linker of Mesa 25, which moves sums and
# products of a varying and uniforms into the vertex shader, where they round at three vertices and not at each pixel.
_STORED = b"""#version 100
precision highp float;
varying float x;
uniform float level;
void main() { gl_FragColor = vec4((level + max(x, 0.0)) / 255.0); }
"""
_ADDED = b"""#version 100
precision highp float;
varying float x;
uniform float level;
uniform float same; // as level; a compiler that knew would leave x
void main() { gl_FragColor = vec4((level + max(x, 0.0)) - same); }
"""


def store_threshold(gl: Api) -> float:
    """Return the fraction of a step from which a store rounds up: the one farthest from 0.5 among ``LEVELS``.

    0.5 means rounding to nearest, 1.0 truncation. It draws ``STEPS`` fractions of each level and reads them back. This
    changes the vertex arrays and fixed state of the context, so sessions use ``Context.store_threshold``.
    """
    rows = _rows(gl, _STORED, LEVELS)
    fractions = [np.count_nonzero(row <= level) / STEPS for row, level in zip(rows, LEVELS)]
    return float(max(fractions, key=lambda fraction: abs(fraction - 0.5)))


def sum_threshold(gl: Api) -> float:
    """Return the fraction of the last bit from which an addition rounds up; otherwise as ``store_threshold``."""
    (row,) = _rows(gl, _ADDED, (UNIT_SPACING,))
    return float(np.count_nonzero(row == 0) / STEPS)


def _rows(gl: Api, fragment: bytes, levels: Sequence[float]) -> list[NDArray[np.uint8]]:
    """Return the bytes stored by a shader for fractions from 0 to 1, (STEPS,) for each level in its uniforms."""
    rows = []
    with Objects(gl) as objects:
        framebuffer = objects.framebuffer(objects.texture(STEPS, 1))
        program = objects.program(_VERTEX, fragment, ["position"], "rounding test")
        triangle = np.array([-1, -1, 3, -1, -1, 3], "<f4")
        buffer = objects.buffer(triangle.tobytes())
        objects.set_fixed_state()
        gl.BindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        gl.Viewport(0, 0, STEPS, 1)
        gl.UseProgram(program)
        gl.BindBuffer(GL.GL_ARRAY_BUFFER, buffer)
        gl.VertexAttribPointer(0, 2, GL.GL_FLOAT, 0, 0, None)
        gl.EnableVertexAttribArray(0)
        locations = [gl.GetUniformLocation(program, name) for name in (b"level", b"same")]
        for level in levels:
            for location in locations:  # -1 for a uniform missing in the shader, which GL ignores
                gl.Uniform1fv(location, 1, (ctypes.c_float * 1)(level))
            gl.DrawArrays(GL.GL_TRIANGLES, 0, 3)
            rows.append(objects.read(STEPS, 1)[0, :, 0])
    return rows


def is_off(threshold: float) -> bool:
    """Return whether stores with this ``store_threshold`` differ from rounding to nearest."""
    return abs(threshold - 0.5) > TOLERANCE
