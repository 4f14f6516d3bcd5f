"""Picture inputs: writes a picture into an input's texture, unchanged or fitted by shaders."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Union

import numpy as np

from glsl_infer.bundle.manifest import Input
from glsl_infer.errors import ImageError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.context import Context
from glsl_infer.gl.dma_buf import DmaBuf
from glsl_infer.gl.dma_import import Importer
from glsl_infer.gl.objects import RGBA, TEXTURE_2D, UNSIGNED_BYTE, Handles, Objects
from glsl_infer.program import Texture
from glsl_infer.program.layout import FeatureMap
from glsl_infer.program.texels import put_picture
from glsl_infer.runtime.pictures import resampling, scaling
from glsl_infer.runtime.pictures.resampling import Resampler, Target
from glsl_infer.runtime.pictures.scaling import Fitted, Region, fitted
from glsl_infer.runtime.pictures.turning import Point
from glsl_infer.runtime.transfers import Transfers
from glsl_infer.support.closing import Closing
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

TYPE_CHECKING = False  # checkers know the name, and the module typing loads slowly
if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class TexturePicture:
    """A picture that is already in a texture, for example a camera's, so that it never visits the CPU.

    Attributes:
        texture: its GL name in the session's context, or in one that shares its objects: a GL_TEXTURE_2D without
            mipmaps, with the top of the picture in row 0. Its alpha counts only if the input has four channels; an
            input of one channel converts it to grey.
        width, height: its size in texels, from 1 to the driver's GL_MAX_TEXTURE_SIZE.
        external: whether it is a GL_TEXTURE_EXTERNAL_OES (GL_OES_EGL_image_external) instead, such as an import of EGL
            from another API. Use nearest filtering, or the driver mixes texels before the shaders do.
    """

    texture: int
    width: int
    height: int
    external: bool = False


@dataclass(frozen=True)
class TurnedPicture:
    """A rotated rectangle of a picture on the GPU. It fills an input's entire picture, regardless of the fit.

    Attributes:
        picture: the full picture.
        corners: the rectangle's top left, top right and bottom left corner: x and y in pixels, from the picture's top
            left corner. They can be outside the picture, where its edge pixels repeat.
    """

    picture: Union[TexturePicture, DmaBuf]
    corners: tuple[Point, Point, Point]


Picture = Union[NDArray[np.uint8], TexturePicture, DmaBuf, TurnedPicture]
"""Value of a picture input: uint8 pixels (height, width, channels) of any size, a texture or a dma-buf of them, or a
rotated rectangle of one of these.
"""


class PictureInput:
    """Picture input of a session. Every method but ``check`` needs the context, with the session's vertices.

    Args:
        model_input: the input.
        texture: the texture of the input.
        gl: the functions of the context.
        transfers: writes and reads textures.
        resampler: returns a resampler for pictures of other sizes.
        importer: makes textures of dma-bufs.
    """

    def __init__(
        self,
        model_input: Input,
        texture: Texture,
        gl: Api,
        transfers: Transfers,
        resampler: Callable[[int], Resampler],
        importer: Importer,
    ) -> None:
        assert isinstance(model_input.value, FeatureMap)
        assert model_input.fit is not None
        self._model_input, self._texture = model_input, texture
        self._value, self._fit = model_input.value, model_input.fit
        self._gl, self._transfers, self._importer = gl, transfers, importer
        self.resampler = resampler(model_input.channels)
        self._limit = gl.integer(GL.GL_MAX_TEXTURE_SIZE)
        view = self._value.views[0]
        self._place = Region(view.x, view.y, model_input.width, model_input.height)
        self._bytes = np.full((model_input.height, model_input.width, 4), 255, np.uint8)
        self._scaled: set[int] = set()  # input textures whose last picture may still be queued, drawn by shaders

    def check(self, picture: object) -> Picture:
        """Return a picture in the form that ``put`` takes, or refuse it.

        Raises:
            ImageError: the value is not a picture for this input; the message has its type and the accepted ones.
        """
        if isinstance(picture, TurnedPicture):
            if not all(math.isfinite(coordinate) for corner in picture.corners for coordinate in corner):
                raise ImageError(f"a turned rectangle with the corners {picture.corners}; give finite numbers")
            self.check(picture.picture)
            return picture
        if isinstance(picture, (TexturePicture, DmaBuf)):
            if not (1 <= picture.width <= self._limit and 1 <= picture.height <= self._limit):
                storage = "texture" if isinstance(picture, TexturePicture) else "dma-buf"
                raise ImageError(
                    f"a {storage} of {picture.width} x {picture.height}; this GPU has them from 1 x 1 to "
                    f"{self._limit} x {self._limit}"
                )
            return picture
        model_input = self._model_input
        if isinstance(picture, np.ndarray) and picture.dtype == np.uint8 and 0 not in picture.shape:
            if picture.ndim == 2 and model_input.channels == 1:
                return picture[..., None]
            if picture.ndim == 3 and picture.shape[2] == model_input.channels:
                return picture
        description = f"{picture.dtype} {picture.shape}" if isinstance(picture, np.ndarray) else type(picture).__name__
        raise ImageError(
            f"input '{model_input.name}' reads uint8 {model_input.shape}, and scales uint8 (height, width, "
            f"{model_input.channels}), a glsl_infer.TexturePicture and a glsl_infer.DmaBuf to that; "
            f"{description} was given; glsl_infer.preprocess.load_for makes it of any image"
        )

    def put(self, picture: Picture, handles: Handles) -> None:
        """Put a picture into the input texture of ``handles``.

        A dma-buf stays imported until ``release`` is called after the GPU has read it, or until the next picture.

        Raises:
            ImageError: the texture does not exist, or the driver cannot import the dma-buf.
            ShaderError: the driver refuses the shaders that scale.
        """
        model_input, name = self._model_input, handles.textures[self._texture.name]
        self._importer.free(name)
        turned = picture if isinstance(picture, TurnedPicture) else None
        full_image = picture.picture if isinstance(picture, TurnedPicture) else picture
        if isinstance(full_image, DmaBuf):
            texture = self._importer.texture(full_image, name)
            full_image = TexturePicture(texture, full_image.width, full_image.height, external=True)
        if isinstance(full_image, TexturePicture):
            if not self._gl.IsTexture(full_image.texture):
                raise ImageError(
                    f"{full_image.texture} is not a texture of this session's context; give the name of one"
                )
            on_gpu = resampling.Picture(full_image.texture, full_image.width, full_image.height, full_image.external)
            if turned is not None:
                self._scaled.add(name)
                self.resampler.turner.draw(on_gpu, turned.corners, self._target(handles))
                return
            self._scale(on_gpu, self._fitted(full_image.width, full_image.height), handles)
            return
        if full_image.shape != model_input.shape:
            places = self._fitted(full_image.shape[1], full_image.shape[0])
            source = places.source
            if max(source.width, source.height) <= self._limit:
                region = full_image[source.top : source.top + source.height, source.left : source.left + source.width]
                self._scale(self.resampler.upload(region, places), places, handles)
                return
            # It is too large for a texture.
            full_image = scaling.fit(_image(full_image), self._fit, model_input.height, model_input.width)
        put_picture(full_image, self._bytes)
        if name in self._scaled:  # and not yet read by a frame: Mesa 22.3's vc4 would draw it over this picture
            self._gl.Finish()
            self._scaled.discard(name)
        self._transfers.upload(name, self._place.left, self._place.top, self._bytes)

    def release(self, handles: Handles) -> None:
        """Release the imports of ``put`` for ``handles`` after an output of their frame has been read."""
        name = handles.textures[self._texture.name]
        self._importer.free(name)
        self._scaled.discard(name)

    def pixels(self, handles: Handles) -> NDArray[np.uint8]:
        """Return the picture as the network reads it, uint8 (height, width, channels)."""
        region = self._place
        texels = self._transfers.read_texture(self._texture.name, handles)
        rows, columns = slice(region.top, region.top + region.height), slice(region.left, region.left + region.width)
        return texels[rows, columns, : self._model_input.channels]

    def _fitted(self, width: int, height: int) -> Fitted:
        return fitted(self._fit, width, height, self._model_input.width, self._model_input.height)

    def _scale(self, picture: resampling.Picture, places: Fitted, handles: Handles) -> None:
        self._scaled.add(handles.textures[self._texture.name])
        self.resampler.draw(picture, places, self._target(handles))

    def _target(self, handles: Handles) -> Target:
        texture = self._texture
        framebuffer = self._transfers.framebuffer(texture.name, handles)
        return Target(framebuffer, texture.width, texture.height, self._place, texture.clear)


def _image(pixels: NDArray[np.uint8]) -> Image.Image:
    """Return pixels (height, width, channels) as a Pillow image."""
    from PIL import Image  # sessions start sooner without it

    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


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
