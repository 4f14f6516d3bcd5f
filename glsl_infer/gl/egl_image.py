"""Pictures that EGL shares with other APIs: an EGLImage, and the external texture through which shaders read it.

An external texture (GL_TEXTURE_EXTERNAL_OES) may lie in memory as its maker left it, in rows and in YUV too; the driver
makes RGB of it wherever a shader reads it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_int, c_uint, c_void_p
from functools import cache
from typing import Any

from glsl_infer.errors import ImageError
from glsl_infer.gl import constants as GL
from glsl_infer.gl import egl
from glsl_infer.gl.api import Api
from glsl_infer.gl.context import Context
from glsl_infer.support.closing import Closing

EXTENSION, GL_EXTENSION = "EGL_KHR_image_base", "GL_OES_EGL_image_external"

TEXTURE_EXTERNAL = 0x8D65
"""GL_TEXTURE_EXTERNAL_OES."""

_NONE = 0x3038

_SIGNATURES: dict[str, Any] = {
    "eglCreateImageKHR": ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_uint, c_void_p, POINTER(c_int)),
    "eglDestroyImageKHR": ctypes.CFUNCTYPE(c_uint, c_void_p, c_void_p),
    "glEGLImageTargetTexture2DOES": ctypes.CFUNCTYPE(None, c_uint, c_void_p),
}


def refusal(context: Context, *more: str) -> str | None:
    """Return why a context cannot read EGLImages, for people; None where it can.

    Args:
        context: is made current.
        more: other extensions of EGL's that are needed.
    """
    context.make_current()
    if egl.current() is None:
        return f"the context ({context.how}) is none of EGL's"
    there = {*egl.display_extensions(), *context.gl.text(GL.GL_EXTENSIONS).split()}
    missing = [extension for extension in (EXTENSION, *more, GL_EXTENSION) if extension not in there]
    if not missing:
        return None
    return f"the driver ({context.gl.text(GL.GL_RENDERER)}) has no {' and no '.join(missing)}"


class EglImage(Closing):
    """An EGLImage on the display of the current context; only where ``refusal`` is None.

    Args:
        target: what it is made of: EGL_LINUX_DMA_BUF_EXT, EGL_GL_TEXTURE_2D_KHR and the like.
        buffer: the client buffer of that target, such as a texture's name; None where there is none.
        attributes: names and values in turn, without EGL_NONE.
        context: handle of the context that a texture belongs to; None for what belongs to none.

    Attributes:
        handle: the EGLImageKHR.

    Raises:
        ImageError: EGL refuses it; the message is EGL's error alone.
    """

    def __init__(self, target: int, buffer: int | None, attributes: Sequence[int], context: int | None = None) -> None:
        self._display = egl.current_display()
        values = (c_int * (len(attributes) + 1))(*attributes, _NONE)
        self.handle: int | None = _function("eglCreateImageKHR")(self._display, context, target, buffer, values)
        if not self.handle:
            raise ImageError(egl.last_error())

    def close(self) -> None:
        """Destroy it; textures made of it stay. Further calls do nothing."""
        if self.handle:
            _function("eglDestroyImageKHR")(self._display, self.handle)
        self.handle = None


class ExternalTexture(Closing):
    """A GL_TEXTURE_EXTERNAL_OES of an EGLImage: nearest, clamped to the edge. It is bound to the active unit.

    Args:
        gl: the functions of the context.
        image: belongs to this object from now on, and is destroyed with it.

    Attributes:
        name: its GL name.
        image: what it is made of.

    Raises:
        ImageError: the driver makes no texture of it; the image is destroyed.
        GlError: an error was there before.
    """

    def __init__(self, gl: Api, image: EglImage) -> None:
        self._gl, self.image = gl, image
        self.name = 0
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self) -> None:
        gl, name = self._gl, c_uint()
        gl.check("before a texture is made of an EGLImage")  # an error from here on is the driver's answer
        gl.GenTextures(1, byref(name))
        self.name = name.value
        gl.BindTexture(TEXTURE_EXTERNAL, self.name)
        for parameter in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            gl.TexParameteri(TEXTURE_EXTERNAL, parameter, GL.GL_NEAREST)
        for parameter in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
            gl.TexParameteri(TEXTURE_EXTERNAL, parameter, GL.GL_CLAMP_TO_EDGE)
        _function("glEGLImageTargetTexture2DOES")(TEXTURE_EXTERNAL, self.image.handle)
        code = gl.GetError()
        if code:
            raise ImageError(f"OpenGL error {code:#x}")

    def close(self) -> None:
        """Delete the texture and destroy the image; further calls do nothing."""
        if self.name:
            self._gl.DeleteTextures(1, (c_uint * 1)(self.name))
        self.name = 0
        self.image.close()


@cache
def _function(name: str) -> Any:
    return egl.extension_function(name, _SIGNATURES[name])
