"""Numbers of the network into and out of a session's textures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle import Bundle
from glsl_infer.errors import InputError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.handles import Handles
from glsl_infer.gl.objects import FRAMEBUFFER, RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.program.layout import FixedPoint, Value, textures_of
from glsl_infer.program.texels import pack_fixed, pack_tiles, shape_of, unpack_fixed, unpack_tiles
from glsl_infer.runtime.pictures.picture_input import PictureInput


class Transfers:
    """Writes and reads values; every method needs the context.

    Args:
        bundle: whose values.
        gl: the functions of the context.
        objects: reads framebuffers.
        picture: reads the input texture, which no pass renders into.
    """

    def __init__(self, bundle: Bundle, gl: Api, objects: Objects, picture: PictureInput) -> None:
        manifest = bundle.manifest
        self._textures = {texture.name: texture for texture in manifest.textures}
        self._picture_value = manifest.input.value
        self._gl, self._objects, self._picture = gl, objects, picture

    def write(self, layer: str, value: Value, array: NDArray[np.floating], handles: Handles) -> None:
        """Write numbers into the textures where the output of ``layer`` lies.

        Raises:
            InputError: they have another shape.
        """
        array = np.asarray(array)
        shape = shape_of(value)
        if array.shape != shape:
            raise InputError(f"input '{layer}' has shape {array.shape}; the layer reads {shape}")
        if isinstance(value, FixedPoint):
            self._upload(handles.textures[value.texture], 0, 0, pack_fixed(array, value))
            return
        tiles = pack_tiles(array, value)
        if value == self._picture_value:
            tiles[..., value.channels :] = 255  # the picture's alpha, which carries what a padded offset needs
        for view, tile in zip(value.views, tiles):
            self._upload(handles.textures[view.texture], view.x, view.y, tile)

    def read(self, value: Value, handles: Handles) -> NDArray[np.float32]:
        """Return a value as numbers."""
        if isinstance(value, FixedPoint):
            self._gl.BindFramebuffer(FRAMEBUFFER, handles.framebuffers[value.texture])
            return unpack_fixed(self._objects.read(*value.size), value)
        textures = {name: self.read_texture(name, handles) for name in textures_of(value)}
        tiles = [textures[v.texture][v.y : v.y + value.height, v.x : v.x + value.width] for v in value.views]
        return unpack_tiles(np.stack(tiles), value)

    def read_texture(self, name: str, handles: Handles) -> NDArray[np.uint8]:
        """Return a whole texture, the picture's or one that passes render into: uint8 (height, width, 4)."""
        if name not in handles.framebuffers:
            return self._picture.texels(handles)
        self._gl.BindFramebuffer(FRAMEBUFFER, handles.framebuffers[name])
        return self._objects.read(self._textures[name].width, self._textures[name].height)

    def clear(self, textures: Iterable[str], handles: Handles) -> None:
        """Clear the targets among some textures, in whose gutters a layer that shares them may have drawn."""
        for name in textures:
            if name in handles.framebuffers:
                self._gl.BindFramebuffer(FRAMEBUFFER, handles.framebuffers[name])
                self._gl.ClearColor(*(byte / 255.0 for byte in self._textures[name].clear))
                self._gl.Clear(GL.GL_COLOR_BUFFER_BIT)

    def _upload(self, texture: int, x: int, y: int, texels: NDArray[np.uint8]) -> None:
        data = np.ascontiguousarray(texels)
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        self._gl.BindTexture(TEXTURE_2D, texture)
        height, width = data.shape[:2]
        self._gl.TexSubImage2D(TEXTURE_2D, 0, x, y, width, height, RGBA, UNSIGNED_BYTE, data.ctypes.data)
