"""Frames from the CPU in a texture: uploaded once for all networks that read them or regions of them."""

from __future__ import annotations

import numpy as np

from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.program.texels import put_picture
from glsl_infer.runtime.pictures.picture_input import TexturePicture
from glsl_infer.support.closing import Closing
from glsl_infer.support.ndarray import NDArray


class Uploaded(Closing):
    """A texture that receives one frame after the other.

    Args:
        context: of the sessions that read it.
    """

    def __init__(self, context: Context) -> None:
        self._context, self._objects = context, Objects(context.gl)
        self._texels = np.empty((0, 0, 4), np.uint8)
        self._texture = 0

    def fits(self, width: int, height: int) -> bool:
        """Return whether a picture of this size in pixels fits into a texture."""
        self._context.make_current()
        return max(width, height) <= self._context.gl.integer(GL.GL_MAX_TEXTURE_SIZE)

    def put(self, pixels: NDArray[np.uint8]) -> TexturePicture:
        """Upload a picture, uint8 (height, width, 3), and return its texture, which is valid until the next call."""
        height, width = pixels.shape[:2]
        self._context.make_current()
        gl = self._context.gl
        gl.ActiveTexture(GL.GL_TEXTURE0)
        if self._texels.shape[:2] != (height, width):
            self._objects.close()
            self._texels = np.full((height, width, 4), 255, np.uint8)
            self._texture = self._objects.texture(width, height)
        put_picture(pixels, self._texels)
        gl.BindTexture(TEXTURE_2D, self._texture)
        gl.TexSubImage2D(TEXTURE_2D, 0, 0, 0, width, height, RGBA, UNSIGNED_BYTE, self._texels.ctypes.data)
        return TexturePicture(self._texture, width, height)

    def close(self) -> None:
        """Delete the texture."""
        if not self._context.closed:
            self._context.make_current()
            self._objects.close()
        self._texels = np.empty((0, 0, 4), np.uint8)
