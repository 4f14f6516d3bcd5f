"""How a picture gets into the network's input texture: its bytes as they are, or cropped and scaled by shaders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from glsl_infer.bundle import Bundle
from glsl_infer.errors import ImageError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.dma_buf import DmaBuf
from glsl_infer.gl.dma_import import Importer
from glsl_infer.gl.handles import Handles
from glsl_infer.gl.objects import RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.program.texels import put_rgb
from glsl_infer.runtime.pictures import preprocess
from glsl_infer.runtime.pictures.resampling import Resampler, Square, Target


@dataclass(frozen=True)
class TexturePicture:
    """A picture that lies in a texture already: a camera's, say, which then never visits the CPU.

    Attributes:
        texture: its GL name in the session's context, or in one that shares its objects: a GL_TEXTURE_2D without
            mipmaps, in whose row 0 lies the top of the picture. Its alpha is not looked at.
        width, height: its size in texels, from 1 to the driver's GL_MAX_TEXTURE_SIZE.
        external: whether it is a GL_TEXTURE_EXTERNAL_OES (GL_OES_EGL_image_external) instead, as what EGL imports from
            other APIs is; with nearest filtering, or the driver mixes texels before the shaders do.
    """

    texture: int
    width: int
    height: int
    external: bool = False


Picture = Union[NDArray[np.uint8], TexturePicture, DmaBuf]
"""What a session runs on: uint8 pixels (height, width, 3) of any size, sRGB, or a texture or a dma-buf of them."""


class PictureInput:
    """A session's input. Every method but ``check`` needs the context, with the session's vertices.

    Args:
        bundle: whose input.
        gl: the functions of the context.
        objects: what is made once belongs to it.
        resampler: scales what is not of the network's size.
        importer: makes textures of dma-bufs.
    """

    def __init__(self, bundle: Bundle, gl: Api, objects: Objects, resampler: Resampler, importer: Importer) -> None:
        self._entry = bundle.manifest.input
        self._texture = next(one for one in bundle.manifest.textures if one.name == self._entry.texture)
        self._gl, self._objects, self._resampler, self._importer = gl, objects, resampler, importer
        self._limit = gl.integer(GL.GL_MAX_TEXTURE_SIZE)
        self._bytes = np.full((self._entry.size, self._entry.size, 4), 255, np.uint8)
        self._framebuffers: dict[int, int] = {}
        self._scaled: set[int] = set()  # input textures whose last picture may still be queued, drawn by shaders

    def check(self, picture: Picture) -> None:
        """Refuse what is no picture.

        Raises:
            ImageError: saying what was given, and what can be.
        """
        if isinstance(picture, (TexturePicture, DmaBuf)):
            if not (1 <= picture.width <= self._limit and 1 <= picture.height <= self._limit):
                kind = "texture" if isinstance(picture, TexturePicture) else "dma-buf"
                raise ImageError(
                    f"a {kind} of {picture.width} x {picture.height}; this GPU has them from 1 x 1 to {self._limit} x "
                    f"{self._limit}"
                )
            return
        if isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and picture.ndim == 3:
            height, width, channels = picture.shape
            if height and width and channels == 3:
                return
        given = f"{picture.dtype} {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
        size = self._entry.size
        raise ImageError(
            f"the model reads uint8 ({size}, {size}, 3), and scales uint8 (height, width, 3), a "
            f"glsl_infer.TexturePicture and a glsl_infer.DmaBuf to that; {given} was given; "
            "glsl_infer.preprocess.load makes it of any picture"
        )

    def put(self, picture: Picture, handles: Handles) -> None:
        """Put a picture into the input texture of ``handles``.

        A dma-buf is imported until ``read`` says that the GPU has read it, or another picture takes its place.

        Raises:
            ImageError: there is no such texture, or the driver cannot import the dma-buf.
            ShaderError: the driver refuses the shaders that scale.
        """
        size, name = self._entry.size, handles.textures[self._entry.texture]
        self._importer.free(name)
        if isinstance(picture, DmaBuf):
            texture = self._importer.texture(picture, name)
            picture = TexturePicture(texture, picture.width, picture.height, external=True)
        if isinstance(picture, TexturePicture):
            if not self._gl.IsTexture(picture.texture):
                raise ImageError(f"{picture.texture} is no texture of this session's context; give the name of one")
            square = Square.of(picture.width, picture.height)
            self._scale(picture.texture, picture.width, picture.height, square, name, external=picture.external)
            return
        if picture.shape != (size, size, 3):
            square = Square.of(picture.shape[1], picture.shape[0])
            if square.side <= self._limit:
                rows, columns = (slice(first, first + square.side) for first in (square.top, square.left))
                texture = self._resampler.upload(picture[rows, columns])
                self._scale(texture, square.side, square.side, Square(0, 0, square.side), name)
                return
            picture = preprocess.to_square(Image.fromarray(picture), size)  # no texture is large enough
        put_rgb(picture, self._bytes)
        if name in self._scaled:  # and no frame read it: Mesa 22.3's vc4 would draw it over this one
            self._gl.Finish()
            self._scaled.discard(name)
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        self._gl.BindTexture(TEXTURE_2D, name)
        self._gl.TexSubImage2D(
            TEXTURE_2D, 0, self._entry.x, self._entry.y, size, size, RGBA, UNSIGNED_BYTE, self._bytes.ctypes.data
        )

    def read(self, handles: Handles) -> None:
        """Give back what ``put`` imported for ``handles``: an output of its frame has been read."""
        name = handles.textures[self._entry.texture]
        self._importer.free(name)
        self._scaled.discard(name)

    def pixels(self, handles: Handles) -> NDArray[np.uint8]:
        """Return the picture itself, uint8 (size, size, 3)."""
        entry = self._entry
        return self.texels(handles)[entry.y : entry.y + entry.size, entry.x : entry.x + entry.size, :3]

    def texels(self, handles: Handles) -> NDArray[np.uint8]:
        """Return the whole input texture as it is, uint8 (height, width, 4)."""
        self._gl.BindFramebuffer(GL.GL_FRAMEBUFFER, self._framebuffer(handles.textures[self._entry.texture]))
        return self._objects.read(self._texture.width, self._texture.height)

    def _framebuffer(self, name: int) -> int:
        """Return what renders into an input texture; most sessions never need it."""
        if name not in self._framebuffers:
            self._framebuffers[name] = self._objects.framebuffer(name)
        return self._framebuffers[name]

    def _scale(
        self, source: int, width: int, height: int, square: Square, name: int, *, external: bool = False
    ) -> None:
        one = self._texture
        target = Target(self._framebuffer(name), one.width, one.height, self._entry.x, self._entry.y)
        self._scaled.add(name)
        self._resampler.draw(source, width, height, square, target, external=external)
