"""A minimal runner, written from docs/bundle-format.md alone; it trusts the file, and frees nothing."""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import operator
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bundle_data import unpacked

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api

CORNERS = ((0, 0), (1, 0), (0, 1), (0, 1), (1, 0), (1, 1))


class PlainRunner:
    """A bundle on the current context."""

    def __init__(self, path: Path, gl: Api, device_lines: str) -> None:
        self.gl, self.device_lines = gl, device_lines.encode()
        with zipfile.ZipFile(path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.manifest = json.loads(self.members["manifest.json"])
        assert (self.manifest["format"], self.manifest["version"]) == ("glslnn", 2)
        self.passes = unpacked(self.manifest, self.members["passes.bin"])
        textures, programs = self.manifest["textures"], self.manifest["programs"]
        self.sizes = {t["name"]: (t["width"], t["height"]) for t in textures}
        self.textures = {t["name"]: self._texture(t) for t in textures}
        self.framebuffers = {t["name"]: self._framebuffer(t["name"]) for t in textures if t["kind"] == "target"}
        self.varyings = {p["name"]: p["varyings"] for p in programs}
        self.programs = {p["name"]: self._program(p) for p in programs}
        for name in ("DITHER", "BLEND", "DEPTH_TEST", "STENCIL_TEST", "SCISSOR_TEST", "CULL_FACE"):
            gl.Disable(getattr(GL, f"GL_{name}"))
        self.clears = {t["name"]: t["clear"] for t in textures if t["kind"] == "target"}
        gl.BindBuffer(GL.GL_ARRAY_BUFFER, self._generate(gl.GenBuffers))

    def layers(self, picture: bytes) -> Iterator[str]:
        """Upload a picture (R, G, B of each pixel), draw, and yield the name of every layer once it is drawn."""
        where = self.manifest["inputs"][0]["value"]
        rgba = b"".join(picture[i : i + 3] + b"\xff" for i in range(0, len(picture), 3))
        ((texture, x, y),), size = where["views"], where["width"]
        self._bind(0, texture)
        self.gl.TexSubImage2D(GL.GL_TEXTURE_2D, 0, x, y, size, size, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, rgba)
        for layer, group in itertools.groupby(self.passes, key=operator.itemgetter("layer")):
            for one in group:
                self._draw(one)
            yield layer

    def logits(self) -> list[float]:
        """The result of the picture that was drawn last."""
        output = self.manifest["outputs"][0]["value"]
        return [n * output["scale"] / 256 for n in decode(self.read(output["texture"]))[: output["length"]]]

    def image(self) -> bytes:
        """The result of the picture that was drawn last as 8 bits in the picture's range, channels together."""
        output, picture = (self.manifest[key][0]["value"] for key in ("outputs", "inputs"))
        texels = {view[0]: self.read(view[0]) for view in output["views"]}
        pixels = bytearray()
        for y in range(output["height"]):
            for x in range(output["width"]):
                for c in range(output["channels"]):
                    texture, left, top = output["views"][c // 4]
                    b = texels[texture][4 * ((top + y) * self.sizes[texture][0] + left + x) + c % 4]
                    value = of(output["scales"], c) * (b - of(output["zeros"], c)) / 255
                    steps = value / of(picture["scales"], c) * 255 + of(picture["zeros"], c)
                    pixels.append(min(max(math.floor(steps + 0.5), 0), 255))
        return bytes(pixels)

    def read(self, name: str) -> bytes:
        """All texels of a target, row 0 first."""
        width, height = self.sizes[name]
        data = (ctypes.c_ubyte * (4 * width * height))()
        self.gl.BindFramebuffer(GL.GL_FRAMEBUFFER, self.framebuffers[name])
        self.gl.ReadPixels(0, 0, width, height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, data)
        return bytes(data)

    def _draw(self, one: dict[str, Any]) -> None:
        gl, program, varyings = self.gl, self.programs[one["program"]], self.varyings[one["program"]]
        gl.BindFramebuffer(GL.GL_FRAMEBUFFER, self.framebuffers[one["target"]])
        gl.Viewport(0, 0, *self.sizes[one["target"]])
        if one["clear"]:
            gl.ClearColor(*(byte / 255 for byte in self.clears[one["target"]]))
            gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.UseProgram(program)
        for unit, name in enumerate(one["textures"]):
            self._bind(unit, name)
        for name, value in one["uniforms"].items():
            self._uniform(gl.GetUniformLocation(program, name.encode()), value)
        floats = [number for quad in one["quads"] for number in self._vertices(one, quad, varyings)]
        gl.BufferData(GL.GL_ARRAY_BUFFER, 4 * len(floats), struct.pack(f"{len(floats)}f", *floats), GL.GL_STATIC_DRAW)
        stride = 4 * (2 + 4 * varyings)
        for location in range(1 + varyings):
            size, offset = (2, 0) if location == 0 else (4, 16 * location - 8)
            gl.VertexAttribPointer(location, size, GL.GL_FLOAT, 0, stride, offset)
            gl.EnableVertexAttribArray(location)
        gl.DrawArrays(GL.GL_TRIANGLES, 0, 6 * len(one["quads"]))

    def _vertices(self, one: dict[str, Any], quad: list[int], varyings: int) -> Iterator[float]:
        x, y, w, h, *origins = quad
        width, height = self.sizes[one["target"]]
        for cx, cy in CORNERS:
            vertex = [2 * (x + cx * w) / width - 1, 2 * (y + cy * h) / height - 1]
            for (unit, stride_x, stride_y), ox, oy in zip(one["sources"], origins[::2], origins[1::2]):
                source_width, source_height = self.sizes[one["textures"][unit]]
                vertex.append((ox + 0.5 + stride_x * (cx * w - 0.5)) / source_width)
                vertex.append((oy + 0.5 + stride_y * (cy * h - 0.5)) / source_height)
            yield from vertex + [0.0] * (2 + 4 * varyings - len(vertex))

    def _uniform(self, location: int, value: Any) -> None:
        width, floats = len(value), value
        if isinstance(value[0], str):
            member, offset, count = value
            width, floats = 4, struct.unpack_from(f"<{count}f", self.members[member], 4 * offset)
        array = (ctypes.c_float * len(floats))(*floats)
        if location >= 0:
            getattr(self.gl, f"Uniform{width}fv")(location, len(floats) // width, array)

    def _program(self, entry: dict[str, Any]) -> int:
        gl = self.gl
        program: int = gl.CreateProgram()
        for kind, before in (("vertex", b""), ("fragment", self.members["shaders/prelude.glsl"] + self.device_lines)):
            shader = gl.CreateShader(getattr(GL, f"GL_{kind.upper()}_SHADER"))
            gl.ShaderSource(shader, 1, (ctypes.c_char_p * 1)(before + self.members[entry[kind]]), None)
            gl.CompileShader(shader)
            gl.AttachShader(program, shader)
        for location, name in enumerate(["position"] + [f"corner{k}" for k in range(entry["varyings"])]):
            gl.BindAttribLocation(program, location, name.encode())
        gl.LinkProgram(program)
        gl.UseProgram(program)
        for unit, name in enumerate(entry["samplers"]):
            gl.Uniform1i(gl.GetUniformLocation(program, name.encode()), unit)
        return program

    def _texture(self, entry: dict[str, Any]) -> int:
        gl, width, height = self.gl, entry["width"], entry["height"]
        if entry["kind"] == "constant":
            texels = self.members[entry["member"]]
        else:
            texels = bytes(entry.get("clear", (0, 0, 0, 0))) * (width * height)
        name = self._generate(gl.GenTextures)
        gl.BindTexture(GL.GL_TEXTURE_2D, name)
        gl.TexImage2D(GL.GL_TEXTURE_2D, 0, GL.GL_RGBA, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, texels)
        for key in ("MIN_FILTER", "MAG_FILTER", "WRAP_S", "WRAP_T"):
            value = GL.GL_NEAREST if key.endswith("FILTER") else GL.GL_CLAMP_TO_EDGE
            gl.TexParameteri(GL.GL_TEXTURE_2D, getattr(GL, f"GL_TEXTURE_{key}"), value)
        return name

    def _framebuffer(self, target: str) -> int:
        name, texture = self._generate(self.gl.GenFramebuffers), self.textures[target]
        self.gl.BindFramebuffer(GL.GL_FRAMEBUFFER, name)
        self.gl.FramebufferTexture2D(GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_TEXTURE_2D, texture, 0)
        return name

    def _bind(self, unit: int, texture: str) -> None:
        self.gl.ActiveTexture(GL.GL_TEXTURE0 + unit)
        self.gl.BindTexture(GL.GL_TEXTURE_2D, self.textures[texture])

    def _generate(self, generate: Any) -> int:
        name = ctypes.c_uint()
        generate(1, ctypes.byref(name))
        return name.value


def of(numbers: list[float], channel: int) -> float:
    """A number of ``scales`` or ``zeros``: one for all channels, or one for each."""
    return numbers[0] if len(numbers) == 1 else numbers[channel]


def decode(texels: bytes) -> list[int]:
    """The 16-bit integers of texels, two a texel."""
    return [(high - 128) * 256 + low for high, low in zip(texels[::2], texels[1::2])]
