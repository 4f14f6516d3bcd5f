"""Import dma-bufs as textures, by EGL_EXT_image_dma_buf_import.

An import lasts for one frame, until the GPU has read it. It is not reused for later frames, because a file descriptor
can then belong to another buffer, and an import is not a copy.
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
    """Return the reason why a context cannot import dma-bufs, or None. The context becomes current."""
    return egl_image.refusal(context, EXTENSION)


class Importer(Closing):
    """The dma-bufs of a session's frames. All methods except ``give_back`` need the context to be current.

    Each frame has a slot, an arbitrary integer chosen by the caller, with at most one import.

    Args:
        context: of the session; not used before the first import.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._textures: dict[int, ExternalTexture] = {}
        self._modifiers: dict[int, list[int]] = {}

    def texture(self, picture: DmaBuf, slot: int) -> int:
        """Import an image into a slot and return the name of its external texture; free the slot's previous import.

        Raises:
            ImageError: the context cannot import dma-bufs, or not this one; the message has the reason.
        """
        self.free(slot)
        reason = self._refusal or self._format_refusal(picture)
        if reason is not None:
            raise ImageError(f"the dma-buf of {picture} cannot be read by the GPU: {reason}")
        self._context.gl.ActiveTexture(GL.GL_TEXTURE0)
        try:
            image = EglImage(_LINUX_DMA_BUF, None, attributes(picture))
            imported = ExternalTexture(self._context.gl, image)
        except ImageError as error:
            raise ImageError(
                f"the dma-buf of {picture} cannot be read by the GPU: the driver refuses it ({error})"
            ) from None
        self._textures[slot] = imported
        return imported.name

    def free(self, slot: int) -> None:
        """Free the import of a slot, if any, after the GPU has read it."""
        if slot in self._textures:
            self._textures.pop(slot).close()

    def give_back(self) -> list[ExternalTexture]:
        """Release the memory of all images and return their textures. This method does not need the context."""
        textures = list(self._textures.values())
        self._textures.clear()
        for texture in textures:
            texture.image.close()
        return textures

    def close(self) -> None:
        """Free all slots."""
        for slot in list(self._textures):
            self.free(slot)

    @cached_property
    def _refusal(self) -> str | None:
        return refusal(self._context)

    @cached_property
    def _reports_formats(self) -> bool:
        """True if the driver supports modifiers and reports its formats."""
        return MODIFIERS_EXTENSION in egl.display_extensions()

    @cached_property
    def _formats(self) -> frozenset[int]:
        """Supported fourcc codes; empty if the driver does not report them."""
        return frozenset(code & 0xFFFFFFFF for code in formats()) if self._reports_formats else frozenset()

    def _format_refusal(self, picture: DmaBuf) -> str | None:
        """Return the reason why the driver cannot import an image's format or modifier; None if it might."""
        code = fourcc_code(picture.fourcc)
        if self._formats and code not in self._formats:
            supported = ", ".join(sorted(map(fourcc_text, self._formats)))
            return f"the driver does not take {picture.fourcc}, but {supported}"
        if picture.modifier is None:
            return None
        if not self._reports_formats:
            return f"the driver has no {MODIFIERS_EXTENSION}; leave the modifier out where there is none"
        if code not in self._modifiers:
            self._modifiers[code] = modifiers(code)
        if self._modifiers[code] and picture.modifier not in self._modifiers[code]:
            listed = ", ".join(f"{modifier:#x}" for modifier in sorted(self._modifiers[code]))
            return f"the driver takes {picture.fourcc} with other modifiers: {listed}"
        return None


def formats() -> list[int]:
    """Return the fourcc codes supported by the current context's display, which must have ``MODIFIERS_EXTENSION``."""
    query, display, count = (
        egl.extension_function("eglQueryDmaBufFormatsEXT", _FORMATS),
        egl.current_display(),
        c_int(),
    )
    if not query(display, 0, None, byref(count)) or count.value < 1:
        return []
    codes = (c_int * count.value)()
    return list(codes[: count.value]) if query(display, count.value, codes, byref(count)) else []


def modifiers(code: int) -> list[int]:
    """Return the modifiers supported for a fourcc code; requirements as for ``formats``."""
    query_modifiers, display = egl.extension_function("eglQueryDmaBufModifiersEXT", _MODIFIERS), egl.current_display()
    count = c_int()
    if not query_modifiers(display, code, 0, None, None, byref(count)) or count.value < 1:
        return []
    modifiers = (c_uint64 * count.value)()
    succeeded = query_modifiers(display, code, count.value, modifiers, (c_uint * count.value)(), byref(count))
    return list(modifiers[: count.value]) if succeeded else []
