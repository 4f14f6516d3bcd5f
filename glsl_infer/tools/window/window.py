"""Window that shows an image with its most probable labels.

Its OpenGL ES 2.0 context is also the one to classify with: give ``window.context`` to a Session or a Classifier.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Union

import numpy as np
from PIL import Image

from glsl_infer.errors import RunError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.glfw_window import GlfwWindow
from glsl_infer.gl.objects import FRAMEBUFFER, RGBA, TEXTURE_2D, UNSIGNED_BYTE, Objects
from glsl_infer.runtime.classifier import Prediction
from glsl_infer.support.closing import Closing
from glsl_infer.support.files import writing
from glsl_infer.support.resources import template
from glsl_infer.tasks.masks import Mask
from glsl_infer.tools.window import label_panel
from glsl_infer.tools.window.composite import Colour, Composite

SIZE = (640, 480)
BACKGROUND = tuple(value / 255 for value in label_panel.BACKGROUND)
_PATIENCE = 0.25
"""Longest wait for an event in seconds, so Ctrl-C in the terminal is handled."""

_CORNERS = np.array([0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1], "<f4")

Box = tuple[int, int, int, int]
"""Left, top, width and height in pixels, from the top left corner of the window."""


class PictureWindow(Closing):
    """A visible window. Use it as a context manager, or ``close`` it; in the main thread, as glfw requires.

    Args:
        size: width and height in screen coordinates.

    Attributes:
        context: the window's context.
        on_key: called with ``next``, ``previous`` or ``quit`` when a corresponding key is pressed.

    Raises:
        ContextError: a screen or its OpenGL ES 2.0 is missing; the message has the remedy.
    """

    def __init__(self, size: tuple[int, int] = SIZE) -> None:
        self.context = Context(partial(GlfwWindow, size, visible=True))
        assert isinstance(self.context.native, GlfwWindow)
        self._glfw, self._handle = self.context.native.glfw, self.context.native.handle
        self.on_key: Callable[[str], None] = lambda _: None
        self._closed = False
        self._picture: Image.Image | None = None
        self._predictions: tuple[Prediction, ...] = ()
        self._laid_out: tuple[int, int, float] | None = None
        self._masked: tuple[Mask, Union[str, Colour]] | None = None
        self._boxes: list[tuple[int, Box]] = []
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise
        glfw = self._glfw
        glfw.set_key_callback(self._handle, self.key)
        glfw.set_window_refresh_callback(self._handle, lambda _: self.draw())
        glfw.set_framebuffer_size_callback(self._handle, lambda *_: self.draw())

    @property
    def is_open(self) -> bool:
        """True until the window is closed or requested to close."""
        return not self._closed and not self._glfw.window_should_close(self._handle)

    def quit(self) -> None:
        """Request the window to close: ``is_open`` becomes false."""
        self._glfw.set_window_should_close(self._handle, True)

    def show(self, picture: Image.Image, predictions: Sequence[Prediction], title: str) -> None:
        """Show an upright RGB image (from ``preprocess.open_image``), labels below it, and a title."""
        self._picture, self._predictions, self._laid_out = picture, tuple(predictions), None
        self._masked = None
        self._glfw.set_window_title(self._handle, label_panel.printable(title))
        self.draw()

    def show_masked(self, picture: Image.Image, mask: Mask, look: Union[str, Colour], title: str) -> None:
        """Show an image and its mask, combined by a shader; ``look``: see ``Composite.use``."""
        self._picture, self._predictions, self._laid_out = picture, (), None
        self._masked = mask, look
        self._glfw.set_window_title(self._handle, label_panel.printable(title))
        self.context.make_current()
        self._composite.upload(mask)
        self.draw()

    def draw(self) -> None:
        """Draw everything again."""
        if self._paint():
            self._glfw.swap_buffers(self._handle)

    def wait(self) -> None:
        """Wait a moment for events (keys, a new size), process them, and return."""
        self._glfw.wait_events_timeout(_PATIENCE)

    def poll(self) -> None:
        """Process pending events and return, for a camera loop after each frame."""
        self._glfw.poll_events()

    def screenshot(self) -> Image.Image:
        """Return the content of the window, without its frame."""
        self.poll()
        self._paint()
        width, height = self._size()
        pixels = self._objects.read(max(1, width), max(1, height))
        return Image.fromarray(np.ascontiguousarray(pixels[::-1, :, :3]))

    def save_screenshot(self, path: Path) -> None:
        """Write the content of the window as a PNG file.

        Raises:
            RunError: the file cannot be written.
        """
        try:
            with writing(path) as file:
                self.screenshot().save(file, "PNG")
        except OSError as error:
            raise RunError(f"{path}: cannot be written ({error.strerror or error})") from None

    def key(self, _window: object, key: int, scancode: int, action: int, _modifiers: int) -> None:
        """Process a key, as a callback of glfw; letters are those of the keyboard's layout."""
        glfw = self._glfw
        if action not in (glfw.PRESS, glfw.REPEAT):
            return
        names = {
            glfw.KEY_RIGHT: "next",
            glfw.KEY_SPACE: "next",
            glfw.KEY_LEFT: "previous",
            glfw.KEY_BACKSPACE: "previous",
            glfw.KEY_ESCAPE: "quit",
        }
        letters = {"n": "next", "p": "previous", "q": "quit"}
        meaning = names.get(key) or letters.get((glfw.get_key_name(key, scancode) or "").lower())
        if meaning is not None:
            self.on_key(meaning)

    def close(self) -> None:
        """Close the window and free its resources; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.context.make_current()
            self._objects.close()
        finally:
            self.context.close()

    # Drawing -----------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        gl = self.context.gl
        self._objects = Objects(gl)
        self._max_size = gl.integer(GL.GL_MAX_TEXTURE_SIZE)
        fragment = template("prelude.glsl") + template("picture.frag")
        vertex = template("picture.vert")
        self._program = self._objects.program(vertex.encode(), fragment.encode(), ["corner"], "the window")
        self._objects.drop_shaders()
        self._place_location = gl.GetUniformLocation(self._program, b"place")
        self._composite = Composite(gl, self._objects)
        self._buffer = self._objects.buffer(_CORNERS.tobytes())
        self._textures = [self._objects.texture(1, 1) for _ in ("picture", "panel")]

    def _size(self) -> tuple[int, int]:
        width, height = self._glfw.get_framebuffer_size(self._handle)
        return int(width), int(height)

    def _scale(self) -> float:
        return float(max(1.0, *self._glfw.get_window_content_scale(self._handle)))

    def _paint(self) -> bool:
        """Draw into the window's back buffer; return False if the window is closed or minimised."""
        width, height = self._size()
        if self._closed or width < 1 or height < 1:  # minimised
            return False
        self.context.make_current()
        self.context.owner = None  # a session on this context must set up its vertex arrays again
        gl = self.context.gl
        self._objects.set_fixed_state()
        gl.ActiveTexture(GL.GL_TEXTURE0)
        self._lay_out(width, height)
        gl.BindFramebuffer(FRAMEBUFFER, 0)
        gl.Viewport(0, 0, width, height)
        gl.ClearColor(*BACKGROUND, 1.0)
        gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.UseProgram(self._program)
        gl.BindBuffer(GL.GL_ARRAY_BUFFER, self._buffer)
        gl.VertexAttribPointer(0, 2, GL.GL_FLOAT, 0, 0, None)
        gl.EnableVertexAttribArray(0)
        for texture, (left, top, wide, high) in self._boxes:
            corners = (2 * left / width - 1, 1 - 2 * top / height, 2 * wide / width, -2 * high / height)
            uniform = self._place_location
            if self._masked is not None and texture == self._textures[0]:
                uniform = self._composite.use(*self._masked)
            gl.Uniform4fv(uniform, 1, (ctypes.c_float * 4)(*corners))
            gl.BindTexture(TEXTURE_2D, texture)
            gl.DrawArrays(GL.GL_TRIANGLES, 0, 6)
        gl.ClearColor(0.0, 0.0, 0.0, 0.0)
        return True

    def _lay_out(self, width: int, height: int) -> None:
        """Compute the layout, and upload the images at about their displayed size."""
        state = (width, height, self._scale())
        if self._laid_out == state:
            return
        self._laid_out = state
        self._boxes = []
        panel = label_panel.draw(self._predictions, min(width, self._max_size), height // 2, state[2])
        panel_height = 0 if panel is None else panel.height
        if self._picture is not None:
            box = fit(self._picture.size, (width, height - panel_height))
            self._upload(self._textures[0], reduced(self._picture, box, self._max_size), smooth=True)
            self._boxes.append((self._textures[0], box))
        if panel is not None:
            self._upload(self._textures[1], panel, smooth=False)
            self._boxes.append((self._textures[1], (0, height - panel_height, width, panel_height)))

    def _upload(self, texture: int, image: Image.Image, smooth: bool) -> None:
        gl = self.context.gl
        gl.BindTexture(TEXTURE_2D, texture)
        texels = image.convert("RGBA").tobytes()
        gl.TexImage2D(TEXTURE_2D, 0, RGBA, image.width, image.height, 0, RGBA, UNSIGNED_BYTE, texels)
        for parameter in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            gl.TexParameteri(TEXTURE_2D, parameter, GL.GL_LINEAR if smooth else GL.GL_NEAREST)


def fit(picture: tuple[int, int], area: tuple[int, int]) -> Box:
    """Return the largest box centred in ``area`` with the image's aspect ratio."""
    factor = min(area[0] / picture[0], area[1] / picture[1])
    width, height = max(1, round(picture[0] * factor)), max(1, round(picture[1] * factor))
    return (area[0] - width) // 2, (area[1] - height) // 2, width, height


def reduced(picture: Image.Image, box: Box, max_size: int) -> Image.Image:
    """Return the image with at most twice the displayed pixels in each direction.

    Linear filtering reads 2 x 2 texels, so it would skip some of a larger image. Textures are not larger than
    ``max_size``.
    """
    if all(side <= 2 * visible and side <= max_size for side, visible in zip(picture.size, box[2:])):
        return picture
    return picture.resize((min(box[2], max_size), min(box[3], max_size)), Image.Resampling.BOX, reducing_gap=2.0)
