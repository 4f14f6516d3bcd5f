"""A minimal runner, written from docs/reference/bundle-format.md alone. It trusts the file, and frees nothing."""

from __future__ import annotations

import ctypes
import itertools
import json
import operator
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bundle_data import unpacked_passes
from plain_values import Array, after, array_of, clip, of, tiles_of_numbers, tiles_of_picture

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
        self.passes = unpacked_passes(self.manifest, self.members["passes.bin"])
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

    def layers(self, inputs: Mapping[str, Any]) -> Iterator[str]:
        """Upload inputs, draw, and yield the name of every layer once it is drawn.

        Args:
            inputs: by name: the bytes of a picture with interleaved channels, or the values of any other input.
        """
        for network_input in self.manifest["inputs"]:
            tiles = tiles_of_picture if network_input["kind"] == "picture" else tiles_of_numbers
            for texture, x, y, width, height, texels in tiles(network_input["value"], inputs[network_input["name"]]):
                self._bind(0, texture)
                region = (GL.GL_TEXTURE_2D, 0, x, y, width, height)
                self.gl.TexSubImage2D(*region, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, texels)
        for layer, group in itertools.groupby(self.passes, key=operator.itemgetter("layer")):
            for network_input in group:
                self._draw(network_input)
            yield layer

    def values(self) -> dict[str, list[Array]]:
        """Return the arrays of each output after the last frame, before its host steps."""
        return {
            output["name"]: [
                array_of(value, lambda name: (self.sizes[name][0], self.read(name))) for value in output["values"]
            ]
            for output in self.manifest["outputs"]
        }

    def results(self) -> dict[str, Array]:
        """Return the outputs of the last frame."""
        results, values = {}, self.values()
        for output in self.manifest["outputs"]:
            arrays = values[output["name"]]
            for step in output["steps"]:
                arrays = after(step, arrays)
            (results[output["name"]],) = arrays
        return results

    def image(self, name: str) -> bytes:
        """Return an image output as bytes, in the range of the first picture input with the same number of channels."""
        (_, _, channels), values = self.results()[name]
        pictures = [
            network_input["value"] for network_input in self.manifest["inputs"] if network_input["kind"] == "picture"
        ]
        picture = next((value for value in pictures if value["channels"] == channels), {"scales": [1], "zeros": [0]})
        scales, zeros = picture["scales"], picture["zeros"]
        steps = [v * 255 / of(scales, i % channels) + of(zeros, i % channels) for i, v in enumerate(values)]
        return bytes(clip(step + 0.5, 0, 255) for step in steps)

    def _texels(self, name: str) -> tuple[int, bytes]:
        """Return the width of a target, and all its texels."""
        return self.sizes[name][0], self.read(name)

    def read(self, name: str) -> bytes:
        """Return all texels of a target, row 0 first."""
        width, height = self.sizes[name]
        data = (ctypes.c_ubyte * (4 * width * height))()
        self.gl.BindFramebuffer(GL.GL_FRAMEBUFFER, self.framebuffers[name])
        self.gl.ReadPixels(0, 0, width, height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, data)
        return bytes(data)

    def _draw(self, draw: dict[str, Any]) -> None:
        gl, program, varyings = self.gl, self.programs[draw["program"]], self.varyings[draw["program"]]
        gl.BindFramebuffer(GL.GL_FRAMEBUFFER, self.framebuffers[draw["target"]])
        gl.Viewport(0, 0, *self.sizes[draw["target"]])
        if draw["clear"]:
            gl.ClearColor(*(byte / 255 for byte in self.clears[draw["target"]]))
            gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        gl.UseProgram(program)
        for unit, name in enumerate(draw["textures"]):
            self._bind(unit, name)
        for name, value in draw["uniforms"].items():
            self._uniform(gl.GetUniformLocation(program, name.encode()), value)
        floats = [coordinate for quad in draw["quads"] for coordinate in self._vertices(draw, quad, varyings)]
        gl.BufferData(GL.GL_ARRAY_BUFFER, 4 * len(floats), struct.pack(f"{len(floats)}f", *floats), GL.GL_STATIC_DRAW)
        stride = 4 * (2 + 4 * varyings)
        for location in range(1 + varyings):
            size, offset = (2, 0) if location == 0 else (4, 16 * location - 8)
            gl.VertexAttribPointer(location, size, GL.GL_FLOAT, 0, stride, offset)
            gl.EnableVertexAttribArray(location)
        gl.DrawArrays(GL.GL_TRIANGLES, 0, 6 * len(draw["quads"]))

    def _vertices(self, draw: dict[str, Any], quad: list[int], varyings: int) -> Iterator[float]:
        x, y, w, h, *origins = quad
        width, height = self.sizes[draw["target"]]
        for cx, cy in CORNERS:
            vertex = [2 * (x + cx * w) / width - 1, 2 * (y + cy * h) / height - 1]
            for (unit, stride_x, stride_y), ox, oy in zip(draw["sources"], origins[::2], origins[1::2]):
                source_width, source_height = self.sizes[draw["textures"][unit]]
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

    def _program(self, description: dict[str, Any]) -> int:
        gl = self.gl
        program: int = gl.CreateProgram()
        for kind, before in (("vertex", b""), ("fragment", self.members["shaders/prelude.glsl"] + self.device_lines)):
            shader = gl.CreateShader(getattr(GL, f"GL_{kind.upper()}_SHADER"))
            gl.ShaderSource(shader, 1, (ctypes.c_char_p * 1)(before + self.members[description[kind]]), None)
            gl.CompileShader(shader)
            gl.AttachShader(program, shader)
        for location, name in enumerate(["position"] + [f"corner{k}" for k in range(description["varyings"])]):
            gl.BindAttribLocation(program, location, name.encode())
        gl.LinkProgram(program)
        gl.UseProgram(program)
        for unit, name in enumerate(description["samplers"]):
            gl.Uniform1i(gl.GetUniformLocation(program, name.encode()), unit)
        return program

    def _texture(self, description: dict[str, Any]) -> int:
        gl, width, height = self.gl, description["width"], description["height"]
        if description["kind"] == "constant":
            texels = self.members[description["member"]]
        else:
            texels = bytes(description["clear"]) * (width * height)
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
