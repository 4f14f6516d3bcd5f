"""Images that EGL shares between APIs: an EGLImage, and the external texture through which shaders read it.

The content of an external texture (GL_TEXTURE_EXTERNAL_OES) can be linear rows or YUV. The driver converts it to RGB
when a shader samples it.
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


def refusal(context: Context, *extensions: str) -> str | None:
    """Return the reason why a context cannot read EGLImages, or None.

    Args:
        context: becomes current.
        extensions: further EGL extensions that are required.
    """
    context.make_current()
    if egl.current() is None:
        return f"the context ({context.how}) is not one of EGL"
    available = {*egl.display_extensions(), *context.gl.text(GL.GL_EXTENSIONS).split()}
    missing = [extension for extension in (EXTENSION, *extensions, GL_EXTENSION) if extension not in available]
    if not missing:
        return None
    return f"the driver ({context.gl.text(GL.GL_RENDERER)}) has no {' and no '.join(missing)}"


class EglImage(Closing):
    """An EGLImage on the display of the current context, for which ``refusal`` must be None.

    Args:
        target: type of its source: EGL_LINUX_DMA_BUF_EXT, EGL_GL_TEXTURE_2D_KHR ...
        buffer: client buffer of that type, such as the name of a texture; None for targets without one.
        attributes: alternating names and values, without EGL_NONE.
        context: handle of the context of a texture; None for other targets.

    Attributes:
        handle: the EGLImageKHR.

    Raises:
        ImageError: EGL refuses; the message is the name of EGL's error.
    """

    def __init__(self, target: int, buffer: int | None, attributes: Sequence[int], context: int | None = None) -> None:
        self._display = egl.current_display()
        values = (c_int * (len(attributes) + 1))(*attributes, _NONE)
        self.handle: int | None = _function("eglCreateImageKHR")(self._display, context, target, buffer, values)
        if not self.handle:
            raise ImageError(egl.last_error())

    def close(self) -> None:
        """Destroy the image; its textures stay valid. Further calls have no effect."""
        if self.handle:
            _function("eglDestroyImageKHR")(self._display, self.handle)
        self.handle = None


class ExternalTexture(Closing):
    """A GL_TEXTURE_EXTERNAL_OES of an EGLImage: nearest, clamped to the edge.

    The constructor binds it to the active unit.

    Args:
        gl: functions of the context.
        image: the image, which this object then owns.

    Attributes:
        name: GL name of the texture.
        image: the image.

    Raises:
        ImageError: the driver refuses the image, which is then destroyed.
        GlError: an earlier call left an error.
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
        """Create the texture of the image.

        Raises:
            ImageError: the driver refuses the image.
            GlError: an earlier call left an error.
        """
        gl, name = self._gl, c_uint()
        gl.check("before a texture is made of an EGLImage")  # so that a later error belongs to the image
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
        """Delete the texture and destroy the image. Further calls have no effect."""
        if self.name:
            self._gl.DeleteTextures(1, (c_uint * 1)(self.name))
        self.name = 0
        self.image.close()


@cache
def _function(name: str) -> Any:
    return egl.extension_function(name, _SIGNATURES[name])
