"""Image with a mask over it in a window, combined by a shader. The CPU only uploads the small mask."""

from __future__ import annotations

import ctypes
from typing import Union

import numpy as np

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.objects import RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.support.resources import template
from glsl_infer.tasks.drawing import colour
from glsl_infer.tasks.masks import BLUR, BLUR_SHARE, Mask

TINT = "tint"
Colour = tuple[int, int, int]

_COLOURED = 1
_LOOKS = {TINT: 0, BLUR: 2}
"""The macro LOOK of shaders/masked.frag for each look, and for a coloured background."""

_UNIFORMS = ("place", "picture", "mask", "seen", "reach", "edge", "ground", "radius")


class Composite:
    """Drawing of images with masks; every method needs the context.

    Args:
        gl: the functions of the context.
        objects: owner of the created objects.
    """

    def __init__(self, gl: Api, objects: Objects) -> None:
        self._gl, self._objects = gl, objects
        self._programs: dict[int, tuple[int, dict[str, int]]] = {}
        self._texture, self._shape = 0, (0, 0)

    def upload(self, mask: Mask) -> None:
        """Upload the values of the next mask."""
        gl, weights = self._gl, np.rint(mask.part * 255.0).astype(np.uint8)
        texels = np.repeat(weights[..., None], 4, axis=2)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        if self._shape != weights.shape:  # the old texture is freed with the window: models have one size
            self._texture, self._shape = self._objects.texture(weights.shape[1], weights.shape[0]), weights.shape[:2]
            gl.BindTexture(TEXTURE_2D, self._texture)
            for parameter in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
                gl.TexParameteri(TEXTURE_2D, parameter, GL.GL_LINEAR)
        gl.BindTexture(TEXTURE_2D, self._texture)
        gl.TexSubImage2D(
            TEXTURE_2D, 0, 0, 0, weights.shape[1], weights.shape[0], RGBA, UNSIGNED_BYTE, texels.ctypes.data
        )

    def use(self, mask: Mask, look: Union[str, Colour]) -> int:
        """Make the program for a mask current; return the location of its ``place``.

        Args:
            mask: the mask passed to ``upload``.
            look: ``tint``, ``blur``, or the colour of a background.
        """
        gl = self._gl
        program, uniforms = self._program(_LOOKS.get(look, _COLOURED) if isinstance(look, str) else _COLOURED)
        gl.UseProgram(program)
        gl.Uniform1i(uniforms["picture"], 0)
        gl.Uniform1i(uniforms["mask"], 1)
        width, height = mask.size
        left, top, right, bottom = mask.inner
        box, (rows, columns) = mask.box, mask.part.shape
        across = (box[2] - box[0]) / (right - left) / columns
        down = (box[3] - box[1]) / (bottom - top) / rows
        region = (across * width, down * height, box[0] / columns - across * left, box[1] / rows - down * top)
        ink = colour(1) if isinstance(look, str) else look
        radius = BLUR_SHARE * max(width, height)
        self._set(uniforms["seen"], *region)
        self._set(uniforms["reach"], left / width, top / height, right / width, bottom / height)
        self._set(uniforms["edge"], *mask.edge)
        self._set(uniforms["ground"], *(byte / 255.0 for byte in ink), 1.0)
        self._set(uniforms["radius"], radius / width, radius / height)
        gl.ActiveTexture(GL.GL_TEXTURE0 + 1)
        gl.BindTexture(TEXTURE_2D, self._texture)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        return uniforms["place"]

    def _program(self, look: int) -> tuple[int, dict[str, int]]:
        if look not in self._programs:
            fragment = f"{template('prelude.glsl')}#define LOOK {look}\n{template('masked.frag')}"
            program = self._objects.program(
                template("picture.vert").encode(), fragment.encode(), ["corner"], "the mask"
            )
            self._objects.drop_shaders()
            locations = {name: self._gl.GetUniformLocation(program, name.encode()) for name in _UNIFORMS}
            self._programs[look] = program, locations
        return self._programs[look]

    def _set(self, location: int, *values: float) -> None:
        function = {2: self._gl.Uniform2fv, 4: self._gl.Uniform4fv}[len(values)]
        function(location, 1, (ctypes.c_float * len(values))(*values))
