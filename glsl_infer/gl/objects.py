"""Creation of GL objects, which are deleted on close."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import GlError, ShaderError
from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.support.closing import Closing
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

if TYPE_CHECKING:
    from glsl_infer.gl.program_binaries import Binary, ProgramBinaries

FRAMEBUFFER, TEXTURE_2D, RGBA, UNSIGNED_BYTE = (
    GL.GL_FRAMEBUFFER,
    GL.GL_TEXTURE_2D,
    GL.GL_RGBA,
    GL.GL_UNSIGNED_BYTE,
)


@dataclass(frozen=True)
class Linked:
    """A linked program: its GL name, and the locations of its uniforms."""

    name: int
    locations: Mapping[str, int]


@dataclass(frozen=True)
class Handles:
    """GL names of all objects that passes use, by their names in the manifest."""

    programs: Mapping[str, Linked]
    textures: Mapping[str, int]
    framebuffers: Mapping[str, int]


class Objects(Closing):
    """Textures, framebuffers, buffers and programs of one user of a context."""

    def __init__(self, gl: Api) -> None:
        self.gl = gl
        self.textures: list[int] = []
        self.framebuffers: list[int] = []
        self.buffers: list[int] = []
        self.shaders: dict[tuple[int, bytes], int] = {}
        self._attached: list[tuple[int, int]] = []
        self.programs: list[int] = []

    def set_fixed_state(self) -> None:
        """Set the pixel alignment, and disable dithering and all other state that changes stored values."""
        for capability in (
            GL.GL_DITHER,
            GL.GL_BLEND,
            GL.GL_SCISSOR_TEST,
            GL.GL_DEPTH_TEST,
            GL.GL_STENCIL_TEST,
            GL.GL_CULL_FACE,
        ):
            self.gl.Disable(capability)
        self.gl.ClearColor(0.0, 0.0, 0.0, 0.0)
        self.gl.PixelStorei(GL.GL_UNPACK_ALIGNMENT, 4)
        self.gl.PixelStorei(GL.GL_PACK_ALIGNMENT, 4)

    def texture(self, width: int, height: int, texels: bytes | None = None) -> int:
        """Create an RGBA8 texture from ``4 * width * height`` bytes, by default zeros: nearest, clamped to the edge."""
        return self._texture(width, height, UNSIGNED_BYTE, bytes(4 * width * height) if texels is None else texels)

    def unwritten_texture(self, width: int, height: int) -> int:
        """Create an RGBA8 texture with undefined texels, for rendering."""
        return self._texture(width, height, UNSIGNED_BYTE, None)

    def float_texture(self, width: int, height: int, texels: bytes) -> int:
        """Create a texture of 32-bit floats from ``16 * width * height`` bytes; needs GL_OES_texture_float."""
        return self._texture(width, height, GL.GL_FLOAT, texels)

    def _texture(self, width: int, height: int, texel_type: int, texels: bytes | None) -> int:
        name = self._generate(self.gl.GenTextures, self.textures)
        self.gl.BindTexture(TEXTURE_2D, name)
        self.gl.TexImage2D(TEXTURE_2D, 0, RGBA, width, height, 0, RGBA, texel_type, texels)
        for parameter in (GL.GL_TEXTURE_MIN_FILTER, GL.GL_TEXTURE_MAG_FILTER):
            self.gl.TexParameteri(TEXTURE_2D, parameter, GL.GL_NEAREST)
        for parameter in (GL.GL_TEXTURE_WRAP_S, GL.GL_TEXTURE_WRAP_T):
            self.gl.TexParameteri(TEXTURE_2D, parameter, GL.GL_CLAMP_TO_EDGE)
        return name

    def framebuffer(self, texture: int) -> int:
        """Create a framebuffer that renders into ``texture``.

        Raises:
            GlError: the driver cannot render into the texture.
        """
        name = self._generate(self.gl.GenFramebuffers, self.framebuffers)
        self.gl.BindFramebuffer(FRAMEBUFFER, name)
        self.gl.FramebufferTexture2D(FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, TEXTURE_2D, texture, 0)
        status = self.gl.CheckFramebufferStatus(FRAMEBUFFER)
        if status != GL.GL_FRAMEBUFFER_COMPLETE:
            raise GlError(f"the driver cannot render into an RGBA8 texture (framebuffer status {status:#x})")
        return name

    def buffer(self, data: bytes) -> int:
        """Create a vertex buffer."""
        name = self._generate(self.gl.GenBuffers, self.buffers)
        self.gl.BindBuffer(GL.GL_ARRAY_BUFFER, name)
        self.gl.BufferData(GL.GL_ARRAY_BUFFER, len(data), data, GL.GL_STATIC_DRAW)
        return name

    def program(self, vertex: bytes, fragment: bytes, attributes: Sequence[str], where: str) -> int:
        """Compile, link and check a program: ``start_program``, then ``check_program``."""
        name = self.start_program(vertex, fragment, attributes)
        self.check_program(name, vertex, fragment, where)
        return name

    def program_from_binary(self, binaries: ProgramBinaries, binary: Binary) -> int | None:
        """Create a program from a binary; return None, without a leak, if the driver refuses the binary."""
        name: int = self.gl.CreateProgram()
        if not binaries.put(name, binary):
            self.gl.DeleteProgram(name)
            return None
        self.programs.append(name)
        return name

    def start_program(self, vertex: bytes, fragment: bytes, attributes: Sequence[str]) -> int:
        """Begin to compile and link a program; the k-th attribute gets location k.

        No status is queried, so the call does not block.
        """
        gl = self.gl
        name: int = gl.CreateProgram()
        self.programs.append(name)
        for stage, source in ((GL.GL_VERTEX_SHADER, vertex), (GL.GL_FRAGMENT_SHADER, fragment)):
            if (stage, source) not in self.shaders:
                shader = gl.CreateShader(stage)
                self.shaders[stage, source] = shader
                gl.ShaderSource(shader, 1, (ctypes.c_char_p * 1)(source), (ctypes.c_int * 1)(len(source)))
                gl.CompileShader(shader)
            gl.AttachShader(name, self.shaders[stage, source])
            self._attached.append((name, self.shaders[stage, source]))
        for location, attribute in enumerate(attributes):
            gl.BindAttribLocation(name, location, attribute.encode())
        gl.LinkProgram(name)
        return name

    def check_program(self, name: int, vertex: bytes, fragment: bytes, where: str) -> None:
        """Raise ShaderError with the driver's log unless a program compiled and linked.

        ``where`` is the program's name in the message.
        """
        status, gl = ctypes.c_int(), self.gl
        for stage, label, source in (
            (GL.GL_VERTEX_SHADER, "vertex", vertex),
            (GL.GL_FRAGMENT_SHADER, "fragment", fragment),
        ):
            shader = self.shaders[stage, source]
            gl.GetShaderiv(shader, GL.GL_COMPILE_STATUS, ctypes.byref(status))
            if not status.value:
                raise ShaderError(
                    f"{where}: the driver refuses the {label} shader:\n{self._log(shader, gl.GetShaderInfoLog)}"
                )
        gl.GetProgramiv(name, GL.GL_LINK_STATUS, ctypes.byref(status))
        if not status.value:
            raise ShaderError(f"{where}: the driver cannot link the shaders:\n{self._log(name, gl.GetProgramInfoLog)}")

    def drop_fragment(self, name: int, fragment: bytes) -> None:
        """Delete the fragment shader of a linked program, unless another program uses it."""
        shader = self.shaders[GL.GL_FRAGMENT_SHADER, fragment]
        self.gl.DetachShader(name, shader)
        self._attached.remove((name, shader))
        if all(attached != shader for _, attached in self._attached):
            self.gl.DeleteShader(self.shaders.pop((GL.GL_FRAGMENT_SHADER, fragment)))

    def drop_shaders(self) -> None:
        """Delete all shader objects; linked programs do not need them.

        A driver keeps an attached shader with its source and compiled form, so they are detached first.
        """
        for program, shader in self._attached:
            self.gl.DetachShader(program, shader)
        self._attached.clear()
        for shader in self.shaders.values():
            self.gl.DeleteShader(shader)
        self.shaders.clear()

    def read(self, width: int, height: int) -> NDArray[np.uint8]:
        """Read texels of the bound framebuffer, uint8 (height, width, 4), row 0 first."""
        pixels = np.empty((height, width, 4), np.uint8)
        self.gl.ReadPixels(0, 0, width, height, RGBA, UNSIGNED_BYTE, pixels.ctypes.data)
        return pixels

    def close(self) -> None:
        """Delete all objects."""
        gl = self.gl
        gl.BindFramebuffer(FRAMEBUFFER, 0)
        gl.UseProgram(0)
        for delete, names in (
            (gl.DeleteFramebuffers, self.framebuffers),
            (gl.DeleteTextures, self.textures),
            (gl.DeleteBuffers, self.buffers),
        ):
            if names:
                delete(len(names), (ctypes.c_uint * len(names))(*names))
            names.clear()
        self.drop_shaders()
        for program in self.programs:
            gl.DeleteProgram(program)
        self.programs.clear()

    def _generate(self, generate: Callable[..., object], names: list[int]) -> int:
        name = ctypes.c_uint()
        generate(1, ctypes.byref(name))
        names.append(name.value)
        return name.value

    def _log(self, name: int, get: Callable[..., object]) -> str:
        buffer = ctypes.create_string_buffer(8192)
        get(name, len(buffer), None, buffer)
        return buffer.value.decode("utf-8", "replace").strip() or "(the driver gives no reason)"
