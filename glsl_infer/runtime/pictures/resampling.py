"""Scaling of a region of a picture by shaders: the same result as ``scaling.fit``, without the CPU.

It takes two passes, along x and along y. The intermediate result is rounded to 8 bits, once more than in
``preprocess``, so that a value can be one step off; tests allow two.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import c_float
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.egl_image import TEXTURE_EXTERNAL
from glsl_infer.gl.objects import FRAMEBUFFER, RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.program.texels import put_picture
from glsl_infer.runtime.pictures.scaling import Fitted, Region
from glsl_infer.support.closing import Closing
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass
from glsl_infer.support.resources import template

if TYPE_CHECKING:
    from glsl_infer.runtime.pictures.turning import Turner

EXTERNAL = "#extension GL_OES_EGL_image_external : require\n#define SAMPLER highp samplerExternalOES\n"
"""Lines for shaders that read a GL_TEXTURE_EXTERNAL_OES; the precision of such a sampler is lowp by default."""

COLOUR = ""
"""Reading of a texel: its colour only."""

GREY = "grey"
"""Reading of a texel: its colour, converted to grey."""

ALPHA = "alpha"
"""Reading of a texel: its colour and its alpha."""

_GREY_WEIGHTS = ", ".join(f"{weight / 65536:.9f}" for weight in (19595, 38470, 7471))

READING = {
    COLOUR: "",
    GREY: (
        "#define VALUE float\n"
        f"#define READ(place) dot(texture2D(source, place).rgb, vec3({_GREY_WEIGHTS}))\n"
        "#define STORED(value) vec4(value, 0.0, 0.0, 1.0)\n"
    ),
    ALPHA: "#define VALUE vec4\n#define READ(place) texture2D(source, place)\n#define STORED(value) value\n",
}
"""Lines in the shaders for each kind of reading."""

UNIFORMS = ("source_texel", "origin", "axis", "rectangle", "side", "size")


@dataclass(frozen=True)
class Picture:
    """A picture in a texture.

    Attributes:
        texture: GL name.
        width, height: in texels.
        external: whether it is a GL_TEXTURE_EXTERNAL_OES instead of a GL_TEXTURE_2D.
    """

    texture: int
    width: int
    height: int
    external: bool = False


@dataclass(frozen=True)
class Target:
    """Destination of the result.

    Attributes:
        framebuffer: GL name of the texture's framebuffer.
        width, height: of the texture.
        place: the rectangle of the network's picture in it.
        clear: bytes of all texels around this rectangle.
    """

    framebuffer: int
    width: int
    height: int
    place: Region
    clear: tuple[int, int, int, int]


class Resampler(Closing):
    """Scales pictures; every method needs the context, with a session's vertices.

    Args:
        gl: the functions of the context.
        prelude: beginning of fragment shaders on this device.
        channels: of the network's picture: 1, 3 or 4.
        first_vertex: the first of six vertices that cover the viewport, in the bound vertex buffer.
    """

    def __init__(self, gl: Api, prelude: bytes, channels: int, first_vertex: int) -> None:
        self._gl, self._prelude, self._channels, self._first_vertex = gl, prelude, channels, first_vertex
        self._programs, self._textures = Objects(gl), Objects(gl)
        self._linked: dict[tuple[int, bool, str], tuple[int, dict[str, int]]] = {}
        self._sizes = (0, 0, 0)
        self._uploaded: int | None = None

    def upload(self, pixels: NDArray[np.uint8], fitted: Fitted) -> Picture:
        """Upload the source region of a picture, and return its texture; the next call can reuse it.

        Args:
            pixels: of this region, uint8 (height, width, channels).
            fitted: the fit of the picture.
        """
        height, width = pixels.shape[:2]
        self._prepare(width, height, fitted.target.width)
        texels = np.full((height, width, 4), 255, np.uint8)
        put_picture(pixels, texels)
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        if self._uploaded is None:
            self._uploaded = self._textures.texture(width, height, texels.tobytes())
        else:
            self._gl.BindTexture(TEXTURE_2D, self._uploaded)
            self._gl.TexSubImage2D(TEXTURE_2D, 0, 0, 0, width, height, RGBA, UNSIGNED_BYTE, texels.ctypes.data)
        return Picture(self._uploaded, width, height)

    def draw(self, picture: Picture, fitted: Fitted, target: Target) -> None:
        """Scale a region of a picture into ``target``. A picture from ``upload`` is that region alone, grey if needed.

        Raises:
            ShaderError: the driver refuses the shaders.
        """
        gl, scaled, source = self._gl, fitted.target, fitted.source
        uploaded = picture.texture == self._uploaded
        self._prepare(source.width, source.height, scaled.width)
        gl.ActiveTexture(GL.GL_TEXTURE0)
        gl.ClearColor(0.0, 0.0, 0.0, 0.0)
        without_conversion = ALPHA if self._channels == 4 else COLOUR

        reading = GREY if self._channels == 1 and not uploaded else without_conversion
        locations = self._use(source.width, scaled.width, picture.external, reading)
        gl.BindFramebuffer(FRAMEBUFFER, self._between_framebuffer)
        gl.Viewport(0, 0, scaled.width, source.height)
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.BindTexture(TEXTURE_EXTERNAL if picture.external else TEXTURE_2D, picture.texture)
        self._set(locations, "source_texel", 1.0 / picture.width, 1.0 / picture.height)
        self._set(locations, "origin", *((0, 0) if uploaded else (source.left, source.top)))
        self._set(locations, "axis", 1, 0)
        self._set(locations, "rectangle", scaled.width, source.height)
        gl.DrawArrays(GL.GL_TRIANGLES, self._first_vertex, 6)

        locations = self._use(source.height, scaled.height, False, without_conversion)
        gl.BindFramebuffer(FRAMEBUFFER, target.framebuffer)
        self._clear(target, scaled)
        gl.Viewport(target.place.left + scaled.left, target.place.top + scaled.top, scaled.width, scaled.height)
        gl.BindTexture(TEXTURE_2D, self._between)
        self._set(locations, "source_texel", 1.0 / scaled.width, 1.0 / source.height)
        self._set(locations, "origin", 0, 0)
        self._set(locations, "axis", 0, 1)
        self._set(locations, "rectangle", scaled.width, scaled.height)
        gl.DrawArrays(GL.GL_TRIANGLES, self._first_vertex, 6)

    @cached_property
    def turner(self) -> Turner:
        """Drawer of rotated rectangles of pictures."""
        from glsl_infer.runtime.pictures.turning import Turner

        return Turner(self._gl, self._prelude, self._channels, self._first_vertex)

    def close(self) -> None:
        """Delete all GL objects."""
        if "turner" in self.__dict__:
            self.turner.close()
        self._textures.close()
        self._programs.close()
        self._linked.clear()
        self._sizes, self._uploaded = (0, 0, 0), None

    def _clear(self, target: Target, scaled: Region) -> None:
        """Clear the texture: black in the unused region of the network's picture, its own clear colour elsewhere."""
        gl, region = self._gl, target.place
        gl.Viewport(0, 0, target.width, target.height)
        if any(target.clear):
            gl.ClearColor(*(byte / 255.0 for byte in target.clear))
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        if (scaled.width, scaled.height) == (region.width, region.height):
            return
        gl.Enable(GL.GL_SCISSOR_TEST)
        gl.Scissor(region.left, region.top, region.width, region.height)
        gl.ClearColor(0.0, 0.0, 0.0, 1.0)
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.Disable(GL.GL_SCISSOR_TEST)

    def _prepare(self, width: int, height: int, between: int) -> None:
        """Create textures for regions of this size scaled to a width of ``between``, replacing those of other sizes."""
        if (width, height, between) == self._sizes:
            return
        self._textures.close()
        self._sizes, self._uploaded = (width, height, between), None
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        self._between = self._textures.texture(between, height)
        self._between_framebuffer = self._textures.framebuffer(self._between)

    def _use(self, side: int, size: int, external: bool, reading: str) -> dict[str, int]:
        """Use the program for an axis, compiled at its first use; return the locations of its uniforms."""
        taps = 0 if side < size else -(-side // size) + 1
        key = (taps, external, reading)
        if key not in self._linked:
            text = template("enlarge.frag") if not taps else f"#define TAPS {taps}\n{template('area_average.frag')}"
            prelude = external_prelude(self._prelude) if external else self._prelude
            program = self._programs.program(
                template("resample.vert").encode(),
                prelude + (template("store.glsl") + READING[reading] + text).encode(),
                ["position"],
                "scaling of the image",
            )
            self._programs.drop_shaders()
            self._gl.UseProgram(program)
            self._gl.Uniform1i(self._gl.GetUniformLocation(program, b"source"), 0)
            new_locations = {name: self._gl.GetUniformLocation(program, name.encode()) for name in UNIFORMS}
            self._linked[key] = program, new_locations
        program, locations = self._linked[key]
        self._gl.UseProgram(program)
        self._set(locations, "side", side)
        self._set(locations, "size", size)
        return locations

    def _set(self, locations: dict[str, int], name: str, *values: float) -> None:
        function: Sequence[Any] = (self._gl.Uniform1fv, self._gl.Uniform2fv)
        function[len(values) - 1](locations[name], 1, (c_float * len(values))(*values))


def external_prelude(prelude: bytes) -> bytes:
    """Return a prelude for external textures. The extension directly follows ``#version``: it must precede all code."""
    version, newline, body = prelude.partition(b"\n")
    return version + newline + EXTERNAL.encode() + body
