"""Shaders are deleted after linking: attached ones would keep their source and the driver's compiled form."""

from __future__ import annotations

import ctypes

import pytest

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Objects

pytestmark = pytest.mark.drivers

VERTEX = b"attribute vec2 position; void main() { gl_Position = vec4(position, 0.0, 1.0); }"
FRAGMENT = b"precision highp float; void main() { gl_FragColor = vec4(%d.0); }"


def test_dropped_shaders_are_attached_no_longer(context: Context) -> None:
    objects, gl = Objects(context.gl), context.gl
    programs = [objects.program(VERTEX, FRAGMENT % number, ["position"], "here") for number in range(3)]
    attached, linked = ctypes.c_int(), ctypes.c_int()
    for program in programs:
        gl.GetProgramiv(program, 0x8B85, ctypes.byref(attached))  # GL_ATTACHED_SHADERS
        assert attached.value == 2
    objects.drop_shaders()
    for program in programs:
        gl.GetProgramiv(program, 0x8B85, ctypes.byref(attached))
        gl.GetProgramiv(program, GL.GL_LINK_STATUS, ctypes.byref(linked))
        assert (attached.value, linked.value) == (0, 1)
        gl.UseProgram(program)
    objects.program(VERTEX, FRAGMENT % 4, ["position"], "one that comes later")
    objects.close()
    gl.check("after it")


def test_a_fragment_shader_goes_with_the_last_program_that_has_it(context: Context) -> None:
    objects, gl = Objects(context.gl), context.gl
    other = VERTEX.replace(b"0.0, 1.0", b"0.5, 1.0")
    programs = [objects.program(vertex, FRAGMENT % 1, ["position"], "here") for vertex in (VERTEX, other)]
    key = GL.GL_FRAGMENT_SHADER, FRAGMENT % 1
    objects.drop_fragment(programs[0], FRAGMENT % 1)
    assert key in objects.shaders
    objects.drop_fragment(programs[1], FRAGMENT % 1)
    assert key not in objects.shaders
    attached = ctypes.c_int()
    for program in programs:
        gl.GetProgramiv(program, 0x8B85, ctypes.byref(attached))
        assert attached.value == 1, "the vertex shader"
        gl.UseProgram(program)
    objects.close()
    gl.check("after it")
