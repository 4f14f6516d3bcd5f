"""Dma-bufs as textures, by EGL_EXT_image_dma_buf_import: each for one frame, and kept until the GPU has read it.

Nothing is kept for a later frame in the same memory: a file descriptor may be another buffer's by then, and an import
is no copy.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_int, c_uint, c_uint64, c_void_p
from functools import cached_property

from glsl_infer.errors import ImageError
from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl, egl_image
from glsl_infer.gl.context import Context
from glsl_infer.gl.dma_buf import DmaBuf, attributes, fourcc_code, fourcc_text
from glsl_infer.gl.egl_image import EglImage, ExternalTexture
from glsl_infer.support.closing import Closing

EXTENSION = "EGL_EXT_image_dma_buf_import"
MODIFIERS_EXTENSION = "EGL_EXT_image_dma_buf_import_modifiers"

_LINUX_DMA_BUF = 0x3270

_FORMATS = ctypes.CFUNCTYPE(c_uint, c_void_p, c_int, POINTER(c_int), POINTER(c_int))
_MODIFIERS = ctypes.CFUNCTYPE(c_uint, c_void_p, c_int, c_int, POINTER(c_uint64), POINTER(c_uint), POINTER(c_int))


def refusal(context: Context) -> str | None:
    """Return why a context cannot import dma-bufs at all, for people; None where it can. It is made current."""
    return egl_image.refusal(context, EXTENSION)


class Importer(Closing):
    """The dma-bufs that a session's frames are read from; every method needs the context.

    A frame lies in a slot: any number that its maker chooses, with at most one import each.

    Args:
        context: the session's; it is not used before the first import.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._held: dict[int, ExternalTexture] = {}
        self._modifiers: dict[int, list[int]] = {}

    def texture(self, picture: DmaBuf, slot: int) -> int:
        """Return the name of an external texture of a picture, in place of what the slot had.

        Raises:
            ImageError: the context cannot import dma-bufs, or not this one; the message says why.
        """
        self.free(slot)
        why = self._refusal or self._format_refusal(picture)
        if why is not None:
            raise ImageError(f"the dma-buf of {picture} cannot be read by the GPU: {why}")
        self._context.gl.ActiveTexture(GL.GL_TEXTURE0)
        try:
            image = EglImage(_LINUX_DMA_BUF, None, attributes(picture))
            imported = ExternalTexture(self._context.gl, image)
        except ImageError as error:
            raise ImageError(
                f"the dma-buf of {picture} cannot be read by the GPU: the driver refuses it ({error})"
            ) from None
        self._held[slot] = imported
        return imported.name

    def free(self, slot: int) -> None:
        """Give back what the slot has: the GPU has read it, or never will."""
        if slot in self._held:
            self._held.pop(slot).close()

    def give_back(self) -> list[ExternalTexture]:
        """Give the memory of all pictures back, and return the textures; it is the one method without the context."""
        textures = list(self._held.values())
        self._held.clear()
        for texture in textures:
            texture.image.close()
        return textures

    def close(self) -> None:
        """Give everything back."""
        for slot in list(self._held):
            self.free(slot)

    @cached_property
    def _refusal(self) -> str | None:
        return refusal(self._context)

    @cached_property
    def _tells(self) -> bool:
        """Whether the driver takes modifiers, and says which formats it imports."""
        return MODIFIERS_EXTENSION in egl.display_extensions()

    @cached_property
    def _formats(self) -> frozenset[int]:
        """The fourcc codes that the driver takes; empty where it does not say."""
        return frozenset(code & 0xFFFFFFFF for code in formats()) if self._tells else frozenset()

    def _format_refusal(self, picture: DmaBuf) -> str | None:
        code = fourcc_code(picture.fourcc)
        if self._formats and code not in self._formats:
            known = ", ".join(sorted(map(fourcc_text, self._formats)))
            return f"the driver does not take {picture.fourcc}, but {known}"
        if picture.modifier is None:
            return None
        if not self._tells:
            return f"the driver has no {MODIFIERS_EXTENSION}; leave the modifier out where there is none"
        if code not in self._modifiers:
            self._modifiers[code] = modifiers(code)
        if self._modifiers[code] and picture.modifier not in self._modifiers[code]:
            listed = ", ".join(f"{modifier:#x}" for modifier in sorted(self._modifiers[code]))
            return f"the driver takes {picture.fourcc} with other modifiers: {listed}"
        return None


def formats() -> list[int]:
    """Return the fourcc codes that the current context's display imports; it has ``MODIFIERS_EXTENSION``."""
    query, display, count = egl.extension_function("eglQueryDmaBufFormatsEXT", _FORMATS), egl.current_display(), c_int()
    if not query(display, 0, None, byref(count)) or count.value < 1:
        return []
    codes = (c_int * count.value)()
    return list(codes[: count.value]) if query(display, count.value, codes, byref(count)) else []


def modifiers(code: int) -> list[int]:
    """Return the modifiers with which the current context's display imports a fourcc code; as ``formats``."""
    query, display = egl.extension_function("eglQueryDmaBufModifiersEXT", _MODIFIERS), egl.current_display()
    count = c_int()
    if not query(display, code, 0, None, None, byref(count)) or count.value < 1:
        return []
    modifiers = (c_uint64 * count.value)()
    answered = query(display, code, count.value, modifiers, (c_uint * count.value)(), byref(count))
    return list(modifiers[: count.value]) if answered else []
