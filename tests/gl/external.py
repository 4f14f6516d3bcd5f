"""Textures seen a second time through an EGLImage, as external ones: what a driver without dma-bufs has of them."""

from __future__ import annotations

from glsl_infer import TexturePicture
from glsl_infer.gl import egl, egl_image
from glsl_infer.gl.context import Context
from glsl_infer.gl.egl_image import EglImage, ExternalTexture

TEXTURE_EXTENSION = "EGL_KHR_gl_texture_2D_image"

# Names from EGL_KHR_gl_image and EGL_KHR_image_base.
_GL_TEXTURE_2D, _IMAGE_PRESERVED = 0x30B1, 0x30D2


def refusal(context: Context) -> str | None:
    """Return why the context cannot make an EGLImage of a texture, or None."""
    return egl_image.refusal(context, TEXTURE_EXTENSION)


def image_of(texture: int) -> EglImage:
    """Return an EGLImage of a GL_TEXTURE_2D of the current context."""
    return EglImage(_GL_TEXTURE_2D, texture, [_IMAGE_PRESERVED, 1], egl.current())


def external(context: Context, picture: TexturePicture) -> tuple[TexturePicture, ExternalTexture]:
    """Return a picture in a GL_TEXTURE_2D as one in an external texture, and that texture, to be closed."""
    texture = ExternalTexture(context.gl, image_of(picture.texture))
    return TexturePicture(texture.name, picture.width, picture.height, external=True), texture
