"""Rotated rectangles of a picture as a network's picture, drawn in one shader pass without the CPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from ctypes import c_float

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.egl_image import TEXTURE_EXTERNAL
from glsl_infer.gl.objects import FRAMEBUFFER, TEXTURE_2D, Objects
from glsl_infer.runtime.pictures.resampling import ALPHA, COLOUR, GREY, READING, Picture, Target, external_prelude
from glsl_infer.support.closing import Closing
from glsl_infer.support.resources import template

MOST_TAPS = 8
"""Maximum number of samples per pixel along an axis. A rectangle that shrinks by more skips some texels."""

UNIFORMS = ("source_texel", "last", "rectangle", "first", "across", "down")

Point = tuple[float, float]


class Turner(Closing):
    """Draws rotated rectangles; every method needs the context, with a session's vertices.

    Args:
        gl, prelude, channels, first_vertex: as for ``Resampler``.
    """

    def __init__(self, gl: Api, prelude: bytes, channels: int, first_vertex: int) -> None:
        self._gl, self._prelude, self._first_vertex = gl, prelude, first_vertex
        self._kind = {1: GREY, 4: ALPHA}.get(channels, COLOUR)
        self._programs = Objects(gl)
        self._linked: dict[tuple[int, bool], tuple[int, dict[str, int]]] = {}

    def draw(self, picture: Picture, corners: Sequence[Point], target: Target) -> None:
        """Draw a rectangle of a picture over the entire place of ``target``.

        Args:
            picture: the picture.
            corners: its top left, top right and bottom left corner, x and y in pixels from the picture's top left one.
            target: is cleared around the place.

        Raises:
            ShaderError: the driver refuses the shader.
        """
        gl, region = self._gl, target.place
        (x, y), *ends = corners  # the ends of the two edges from the first corner
        across, down = (
            ((end_x - x) / size, (end_y - y) / size)
            for (end_x, end_y), size in zip(ends, (region.width, region.height))
        )
        locations = self._use(taps(across, down), picture.external)
        gl.BindFramebuffer(FRAMEBUFFER, target.framebuffer)
        gl.Viewport(0, 0, target.width, target.height)
        gl.ClearColor(*(byte / 255.0 for byte in target.clear))
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.ClearColor(0.0, 0.0, 0.0, 0.0)
        gl.Viewport(region.left, region.top, region.width, region.height)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        gl.BindTexture(TEXTURE_EXTERNAL if picture.external else TEXTURE_2D, picture.texture)
        for name, pair in (
            ("source_texel", (1.0 / picture.width, 1.0 / picture.height)),
            ("last", (picture.width - 1.0, picture.height - 1.0)),
            ("rectangle", (region.width, region.height)),
            ("first", (x - 0.5, y - 0.5)),
            ("across", across),
            ("down", down),
        ):
            gl.Uniform2fv(locations[name], 1, (c_float * 2)(*pair))
        gl.DrawArrays(GL.GL_TRIANGLES, self._first_vertex, 6)

    def close(self) -> None:
        """Delete all GL objects."""
        self._programs.close()
        self._linked.clear()

    def _use(self, tap_count: int, external: bool) -> dict[str, int]:
        """Use the program with this number of taps, compiled at its first use; return the locations of its uniforms."""
        gl, key = self._gl, (tap_count, external)
        if key not in self._linked:
            prelude = external_prelude(self._prelude) if external else self._prelude
            text = f"#define TAPS {tap_count}\n{template('turned.frag')}"
            program = self._programs.program(
                template("resample.vert").encode(),
                prelude + (template("store.glsl") + READING[self._kind] + text).encode(),
                ["position"],
                "a cut of the image",
            )
            self._programs.drop_shaders()
            gl.UseProgram(program)
            gl.Uniform1i(gl.GetUniformLocation(program, b"source"), 0)
            locations = {name: gl.GetUniformLocation(program, name.encode()) for name in UNIFORMS}
            self._linked[key] = program, locations
        program, locations = self._linked[key]
        gl.UseProgram(program)
        return locations


def taps(across: Point, down: Point) -> int:
    """Return the number of samples along an axis: at most a texel apart, but no more than ``MOST_TAPS``.

    Args:
        across: texels from one pixel to the next, to the right.
        down: and downwards.
    """
    return max(1, min(MOST_TAPS, math.ceil(max(math.hypot(*across), math.hypot(*down)) - 1e-6)))
