"""A driver with one fault, injected between the engine and the real GL library.

``FaultyApi`` is the real ``Api`` with wrapped functions; calls without the fault reach the real driver. A layer's
program is recognised by the source of its fragment shader.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from glsl_infer.bundle import Bundle
from glsl_infer.gl import api
from glsl_infer.gl.api import Api

CONTEXT_LOST = 0x0507


def first_layer_of(bundle: Bundle, layer: str) -> tuple[str, bytes]:
    """Return the first layer drawn with the (first) program of ``layer``, and the program's fragment source."""
    name = next(draw.program for draw in bundle.manifest.passes if draw.layer == layer)
    program = next(pair for pair in bundle.manifest.programs if pair.name == name)
    first = next(draw.layer for draw in bundle.manifest.passes if draw.program == name)
    return first, bundle.members[program.fragment]


class FaultyApi(Api):
    """The real library, with a hook around each function of the fault."""

    def __init__(self, text: bytes = b"\0") -> None:
        super().__init__(api._library("GLES2", "libGLESv2", 2))
        self.text_of_layer = text
        self.shaders: set[int] = set()
        self.programs: set[int] = set()
        self.current = 0
        self.hook("ShaderSource", self.shader_source)
        self.hook("AttachShader", self.attach)
        self.hook("UseProgram", self.use)

    def text(self, name: int) -> str:
        """Hide extensions that would change or hide a program's source (uniform_rows.py)."""
        names = ("GL_OES_get_program_binary", "GL_OES_texture_float")
        return " ".join(word for word in super().text(name).split(" ") if word not in names)

    def hook(self, name: str, hooked: Callable[..., Any]) -> None:
        """Replace a function by ``hooked(real, *arguments)``, for direct and for prepared calls."""
        for folder in (self, self.prepared):
            real = getattr(folder, name, None)
            if real is not None:
                setattr(folder, name, _named(lambda *a, real=real: hooked(real, *a), f"gl{name}"))

    def shader_source(self, real: Any, shader: int, count: int, texts: Any, lengths: Any) -> None:
        if self.text_of_layer in bytes(texts[0]):
            self.shaders.add(shader)
        real(shader, count, texts, lengths)

    def attach(self, real: Any, program: int, shader: int) -> None:
        if shader in self.shaders:
            self.programs.add(program)
        real(program, shader)

    def use(self, real: Any, program: int) -> None:
        self.current = program
        real(program)


class SkipsDraws(FaultyApi):
    """A driver that skips draws with one program without an error, as VideoCore IV does if registers run out."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.hook("DrawArrays", self.draw)

    def draw(self, real: Any, *arguments: Any) -> None:
        if self.current not in self.programs:
            real(*arguments)


class MediumPrecision(FaultyApi):
    """A driver that compiles highp fragment shaders as mediump, with half the bits of a float."""

    def shader_source(self, real: Any, shader: int, count: int, texts: Any, lengths: Any) -> None:
        text = bytes(texts[0]).replace(b"highp", b"mediump")
        real(shader, 1, (ctypes.c_char_p * 1)(text), (ctypes.c_int * 1)(len(text)))


class OffByOnePixel(FaultyApi):
    """A driver that shifts the quads of one program one texel to the right."""

    def __init__(self, text: bytes) -> None:
        super().__init__(text)
        self.size = (0, 0)
        self.real_viewport = self.prepared.Viewport
        self.hook("Viewport", self.viewport)
        self.hook("DrawArrays", self.draw)

    def viewport(self, real: Any, x: int, y: int, width: int, height: int) -> None:
        self.size = (width, height)
        real(x, y, width, height)

    def draw(self, real: Any, *arguments: Any) -> None:
        offset = self.current in self.programs
        self.real_viewport(int(offset), 0, *self.size)
        real(*arguments)
        self.real_viewport(0, 0, *self.size)


class LosesContext(FaultyApi):
    """A driver that loses its context at the n-th draw with one program; glGetError then returns GL_CONTEXT_LOST."""

    def __init__(self, text: bytes, draws: int = 1) -> None:
        super().__init__(text)
        self.lost, self.draws = False, draws
        for name in api._SIGNATURES:
            self.hook(name, self.unless_lost(name))

    def unless_lost(self, name: str) -> Callable[..., Any]:
        def call(real: Any, *arguments: Any) -> Any:
            if name == "DrawArrays" and self.current in self.programs:
                self.draws -= 1
                self.lost = self.draws <= 0
            if not self.lost or name.startswith(("Delete", "GetString")):
                return real(*arguments)
            return CONTEXT_LOST if name == "GetError" else None

        return call


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = name
    return function
