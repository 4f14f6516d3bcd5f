"""Transfers of values into and out of a session's textures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Union

import numpy as np

from glsl_infer.bundle.manifest import PICTURE, Manifest
from glsl_infer.errors import InputError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.objects import FRAMEBUFFER, RGBA, TEXTURE_2D, UNSIGNED_BYTE, Handles, Objects
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap, Value, textures_of
from glsl_infer.program.texels import decode_fixed, decode_tiles, pack_fixed, pack_tiles, shape_of
from glsl_infer.support.ndarray import NDArray

Output = NDArray[np.float32]
"""A result in the shape of ``manifest.Output.shape``."""

Results = dict[str, Output]
"""Every output by its name."""

Answer = Union[Output, Results]
"""Result of ``Session.run``: all outputs for a dict of inputs, the only output for a picture."""


class Transfers:
    """Writes and reads values; every method needs the context.

    Args:
        manifest: describes the textures and inputs.
        gl: the functions of the context.
        objects: reads framebuffers, and owns those created here.
    """

    def __init__(self, manifest: Manifest, gl: Api, objects: Objects) -> None:
        self._textures = {texture.name: texture for texture in manifest.textures}
        self._marked = [
            model_input.value
            for model_input in manifest.inputs
            if model_input.kind == PICTURE and model_input.channels != 4
        ]
        self._gl, self._objects = gl, objects
        self._framebuffers: dict[int, int] = {}

    def write(self, subject: str, value: Value, array: NDArray[Any], handles: Handles) -> None:
        """Write an array into the textures of a value; ``subject`` names the value in messages.

        Raises:
            InputError: the array has another shape.
        """
        array = np.asarray(array)
        shape = shape_of(value)
        if array.shape != shape:
            raise InputError(f"{subject} has shape {array.shape}; give numbers of shape {shape}")
        if isinstance(value, FixedPoint):
            self.upload(handles.textures[value.texture], 0, 0, pack_fixed(array, value))
            return
        tiles = pack_tiles(array, value)
        if value in self._marked:
            tiles[..., 3] = 255  # shaders use alpha to detect the picture
        for view, tile in zip(value.views, tiles):
            self.upload(handles.textures[view.texture], view.x, view.y, tile)

    def read(self, value: Value, handles: Handles) -> NDArray[np.float64]:
        """Return a value as an array."""
        if isinstance(value, FixedPoint):
            self._gl.BindFramebuffer(FRAMEBUFFER, self.framebuffer(value.texture, handles))
            return decode_fixed(self._objects.read(*value.size), value)
        return decode_tiles(self._tiles(value, handles), value)

    def read_texture(self, name: str, handles: Handles) -> NDArray[np.uint8]:
        """Return all texels of an input texture or a render target: uint8 (height, width, 4)."""
        self._gl.BindFramebuffer(FRAMEBUFFER, self.framebuffer(name, handles))
        return self._objects.read(self._textures[name].width, self._textures[name].height)

    def clear(self, textures: Iterable[str], handles: Handles) -> None:
        """Clear the render targets among textures, because a layer sharing a target can have drawn in the gutters."""
        for name in textures:
            if name in handles.framebuffers:
                self._gl.BindFramebuffer(FRAMEBUFFER, handles.framebuffers[name])
                self._gl.ClearColor(*(byte / 255.0 for byte in self._textures[name].clear))
                self._gl.Clear(GL.GL_COLOR_BUFFER_BIT)

    def upload(self, texture: int, x: int, y: int, texels: NDArray[np.uint8]) -> None:
        """Write texels, uint8 (height, width, 4), into a texture by its GL name, from (x, y) on."""
        data = np.ascontiguousarray(texels)
        self._gl.ActiveTexture(GL.GL_TEXTURE0)
        self._gl.BindTexture(TEXTURE_2D, texture)
        height, width = data.shape[:2]
        self._gl.TexSubImage2D(TEXTURE_2D, 0, x, y, width, height, RGBA, UNSIGNED_BYTE, data.ctypes.data)

    def framebuffer(self, name: str, handles: Handles) -> int:
        """Return the framebuffer of a texture; for an input it is created at the first use."""
        if name in handles.framebuffers:
            return handles.framebuffers[name]
        texture = handles.textures[name]
        if texture not in self._framebuffers:
            self._framebuffers[texture] = self._objects.framebuffer(texture)
        return self._framebuffers[texture]

    def _tiles(self, value: FeatureMap | SixteenBitMap | FixedMap, handles: Handles) -> NDArray[np.uint8]:
        textures = {name: self.read_texture(name, handles) for name in textures_of(value)}
        return np.stack([textures[v.texture][v.y : v.y + value.height, v.x : v.x + value.width] for v in value.views])
