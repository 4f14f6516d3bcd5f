"""How a store to RGBA8 rounds, and how an addition: measured, because drivers differ and no query tells.

Rounding to nearest turns at half a step. Mesa's software drivers do; an NVIDIA H200 turns at 0.505 to 0.56 of a step,
depending on the byte. Shaders then round for themselves (shaders/store.glsl): with that, no layer of the shipped model
was more than 0.5001 of a step from exact there, as on Mesa.

VideoCore IV cuts every sum toward zero. Shaders there start sums where they end right in the mean
(``lowering.cut_sums``), unless a test shows that the device rounds them.
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
"""Bytes between which and the next the turning point is looked for."""

TOLERANCE = 0.01
"""How far from one half a turning point may be to count as rounding to nearest (the measurement is half as exact)."""

ROUND_STORES = "#define ROUND_STORES\n"

WHOLE = 2.0**23
"""A float whose next is larger by 1: added to a fraction, it shows how sums round."""

_VERTEX = b"""#version 100
attribute vec2 position;
varying float x;
void main() {
    x = position.x * 0.5 + 0.5;
    gl_Position = vec4(position, 0.0, 1.0);
}
"""
# x is never negative, but a linker cannot know that. Mesa 25 moves sums and products of a varying and uniforms into the
# vertex shader, where they round at three vertices and not at each pixel. It does not move max().
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
    """Return the fraction of a step from which a store rounds up: of all ``LEVELS``, the one farthest from 0.5.

    0.5 is rounding to nearest, 1.0 would be cutting off. ``STEPS`` fractions of each are drawn and read back, which
    changes the context's vertex arrays and fixed state: use ``Context.store_threshold``, which knows whose they are.
    """
    rows = _rows(gl, _STORED, LEVELS)
    fractions = [np.count_nonzero(row <= level) / STEPS for row, level in zip(rows, LEVELS)]
    return float(max(fractions, key=lambda fraction: abs(fraction - 0.5)))


def sum_threshold(gl: Api) -> float:
    """Return the fraction of the last bit from which an addition rounds up; the rest as for ``store_threshold``."""
    (row,) = _rows(gl, _ADDED, (WHOLE,))
    return float(np.count_nonzero(row == 0) / STEPS)


def _rows(gl: Api, fragment: bytes, levels: Sequence[float]) -> list[NDArray[np.uint8]]:
    """Return what a shader stores for fractions from 0 to 1, (STEPS,), with each level as its uniforms."""
    rows = []
    with Objects(gl) as objects:
        framebuffer = objects.framebuffer(objects.texture(STEPS, 1))
        program = objects.program(_VERTEX, fragment, ["position"], "rounding test")
        triangle = np.array([-1, -1, 3, -1, -1, 3], "<f4")
        buffer = objects.buffer(triangle.tobytes())
        objects.fixed_state()
        gl.BindFramebuffer(GL.GL_FRAMEBUFFER, framebuffer)
        gl.Viewport(0, 0, STEPS, 1)
        gl.UseProgram(program)
        gl.BindBuffer(GL.GL_ARRAY_BUFFER, buffer)
        gl.VertexAttribPointer(0, 2, GL.GL_FLOAT, 0, 0, None)
        gl.EnableVertexAttribArray(0)
        places = [gl.GetUniformLocation(program, name) for name in (b"level", b"same")]
        for level in levels:
            for place in places:  # -1 where a shader has none, which GL ignores
                gl.Uniform1fv(place, 1, (ctypes.c_float * 1)(level))
            gl.DrawArrays(GL.GL_TRIANGLES, 0, 3)
            rows.append(objects.read(STEPS, 1)[0, :, 0])
    return rows


def is_off(threshold: float) -> bool:
    """Return whether stores on a device with that ``store_threshold`` do not round to nearest."""
    return abs(threshold - 0.5) > TOLERANCE
