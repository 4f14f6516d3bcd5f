"""The centred square of a picture, scaled by shaders: what ``preprocess.to_square`` does, without the CPU.

Two passes, along x and along y. What lies between them is rounded to 8 bits once more than ``preprocess`` rounds, so
that a value may be one step off; tests hold two.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_float
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.egl_image import TEXTURE_EXTERNAL
from glsl_infer.gl.objects import FRAMEBUFFER, RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.program.texels import put_rgb
from glsl_infer.support.closing import Closing
from glsl_infer.support.resources import template

EXTERNAL = "#extension GL_OES_EGL_image_external : require\n#define SAMPLER highp samplerExternalOES\n"
"""What makes a shader read a GL_TEXTURE_EXTERNAL_OES; such a sampler would be lowp if it did not say otherwise."""

UNIFORMS = ("source_texel", "origin", "axis", "rectangle", "side", "size")


@dataclass(frozen=True)
class Square:
    """The centred square of a picture, as ``preprocess`` defines it, in pixels.

    Attributes:
        left, top: its first pixel.
        side: its width and height.
    """

    left: int
    top: int
    side: int

    @classmethod
    def of(cls, width: int, height: int) -> Square:
        """Return the square of a picture of that size."""
        side = min(width, height)
        return cls((width - side) // 2, (height - side) // 2, side)


@dataclass(frozen=True)
class Target:
    """Where the result goes.

    Attributes:
        framebuffer: GL name of what renders into the texture.
        width, height: of the texture.
        x, y: the first texel of the result; all others become zeros.
    """

    framebuffer: int
    width: int
    height: int
    x: int
    y: int


class Resampler(Closing):
    """Scales squares to ``size`` x ``size`` pixels; every method needs the context, with a session's vertices.

    Args:
        gl: the functions of the context.
        prelude: what fragment shaders begin with on this device.
        size: pixels of a side of the result.
        first_vertex: the first of six vertices that cover everything, in the vertex buffer that is bound.
    """

    def __init__(self, gl: Api, prelude: bytes, size: int, first_vertex: int) -> None:
        self._gl, self._prelude, self._size, self._first_vertex = gl, prelude, size, first_vertex
        self._programs, self._textures = Objects(gl), Objects(gl)
        self._linked: dict[tuple[int, bool], tuple[int, dict[str, int]]] = {}
        self._side = 0
        self._uploaded: int | None = None

    def upload(self, pixels: NDArray[np.uint8]) -> int:
        """Return the name of a texture that holds square pixels, uint8 (side, side, 3); the next call may reuse it."""
        side = pixels.shape[0]
        self._prepare(side)
        texels = np.full((side, side, 4), 255, np.uint8)
        put_rgb(pixels, texels)
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        if self._uploaded is None:
            self._uploaded = self._textures.texture(side, side, texels.tobytes())
        else:
            self._gl.BindTexture(TEXTURE_2D, self._uploaded)
            self._gl.TexSubImage2D(TEXTURE_2D, 0, 0, 0, side, side, RGBA, UNSIGNED_BYTE, texels.ctypes.data)
        return self._uploaded

    def draw(
        self, texture: int, width: int, height: int, square: Square, target: Target, *, external: bool = False
    ) -> None:
        """Scale the square of a texture of ``width`` x ``height`` texels into ``target``.

        With ``external`` it is a GL_TEXTURE_EXTERNAL_OES, and no GL_TEXTURE_2D.

        Raises:
            ShaderError: the driver refuses the shaders.
        """
        gl, size, side = self._gl, self._size, square.side
        self._prepare(side)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        gl.ClearColor(0.0, 0.0, 0.0, 0.0)

        locations = self._use(side, external)
        gl.BindFramebuffer(FRAMEBUFFER, self._between_framebuffer)
        gl.Viewport(0, 0, size, side)
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.BindTexture(TEXTURE_EXTERNAL if external else TEXTURE_2D, texture)
        self._set(locations, "source_texel", 1.0 / width, 1.0 / height)
        self._set(locations, "origin", square.left, square.top)
        self._set(locations, "axis", 1, 0)
        self._set(locations, "rectangle", size, side)
        gl.DrawArrays(GL.GL_TRIANGLES, self._first_vertex, 6)

        if external:
            locations = self._use(side, False)
        gl.BindFramebuffer(FRAMEBUFFER, target.framebuffer)
        gl.Viewport(0, 0, target.width, target.height)
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.Viewport(target.x, target.y, size, size)
        gl.BindTexture(TEXTURE_2D, self._between)
        self._set(locations, "source_texel", 1.0 / size, 1.0 / side)
        self._set(locations, "origin", 0, 0)
        self._set(locations, "axis", 0, 1)
        self._set(locations, "rectangle", size, size)
        gl.DrawArrays(GL.GL_TRIANGLES, self._first_vertex, 6)

    def close(self) -> None:
        """Delete everything."""
        self._textures.close()
        self._programs.close()
        self._linked.clear()
        self._side, self._uploaded = 0, None

    def _prepare(self, side: int) -> None:
        """Have the textures for squares of that side, instead of those for another."""
        if side == self._side:
            return
        self._textures.close()
        self._side, self._uploaded = side, None
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        self._between = self._textures.texture(self._size, side)
        self._between_framebuffer = self._textures.framebuffer(self._between)

    def _use(self, side: int, external: bool) -> dict[str, int]:
        """Use the program for squares of that side, compiled when it is needed first; return where its uniforms are."""
        taps = 0 if side < self._size else -(-side // self._size) + 1
        if (taps, external) not in self._linked:
            text = template("enlarge.frag") if not taps else f"#define TAPS {taps}\n{template('area_average.frag')}"
            prelude = external_prelude(self._prelude) if external else self._prelude
            program = self._programs.program(
                template("resample.vert").encode(),
                prelude + (template("store.glsl") + text).encode(),
                ["position"],
                "scaling of the picture",
            )
            self._programs.drop_shaders()
            self._gl.UseProgram(program)
            self._gl.Uniform1i(self._gl.GetUniformLocation(program, b"source"), 0)
            places = {name: self._gl.GetUniformLocation(program, name.encode()) for name in UNIFORMS}
            self._linked[taps, external] = program, places
        program, locations = self._linked[taps, external]
        self._gl.UseProgram(program)
        self._set(locations, "side", side)
        self._set(locations, "size", self._size)
        return locations

    def _set(self, locations: dict[str, int], name: str, *values: float) -> None:
        function: Sequence[Any] = (self._gl.Uniform1fv, self._gl.Uniform2fv)
        function[len(values) - 1](locations[name], 1, (c_float * len(values))(*values))


def external_prelude(prelude: bytes) -> bytes:
    """Return a prelude for external textures: after its ``#version`` line, for extensions come before all code."""
    version, newline, rest = prelude.partition(b"\n")
    return version + newline + EXTERNAL.encode() + rest
