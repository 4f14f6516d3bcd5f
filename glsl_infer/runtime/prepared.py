"""Everything needed to draw a bundle in a context: programs, textures, vertices, and the calls of a frame."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Union

from glsl_infer.bundle import Bundle
from glsl_infer.gl import constants as GL
from glsl_infer.gl.context import Context
from glsl_infer.gl.objects import Handles, Objects
from glsl_infer.program import PRELUDE, Pass
from glsl_infer.program.layout import textures_of
from glsl_infer.runtime import frame
from glsl_infer.runtime.drivers import driver_of
from glsl_infer.runtime.drivers.llvmpipe.drawn import Drawn
from glsl_infer.runtime.linking import Linker
from glsl_infer.runtime.pictures.resampling import Resampler
from glsl_infer.runtime.pipeline import Slot
from glsl_infer.support.stopwatch import Stopwatch

_FLOAT, _ARRAY_BUFFER = GL.GL_FLOAT, GL.GL_ARRAY_BUFFER


class Prepared:
    """GL objects and calls that draw a bundle. The context must be current for every method.

    Args:
        bundle: the bundle to draw.
        context: the context to draw in.
        objects: owns the new GL objects, and deletes them.
        clock: records the laps ``rounding_test``, ``programs``, ``program_cache`` and ``textures``.
        cache: as for ``Session``.

    Attributes:
        handles: GL names of programs, textures and framebuffers.
        frame: the calls of a frame.
        restored_programs, compiled_programs: number of programs from the cache, and of the others.

    Raises:
        ShaderError: the driver refuses a shader.
        GlError: the driver cannot render into a texture.
    """

    def __init__(
        self, bundle: Bundle, context: Context, objects: Objects, clock: Stopwatch, cache: Union[bool, Path]
    ) -> None:
        self._objects, self._gl, self._driver = objects, context.gl, driver_of(context)
        self._draws_at_once = self._driver.draws_at_once
        self._drawn = Drawn(bundle, context, objects)
        manifest, members = self._drawn.bundle.manifest, self._drawn.bundle.members
        self._textures = {texture.name: texture for texture in manifest.textures}
        self._varyings = max(program.varyings for program in manifest.programs)
        device_lines = driver_of(context).device_lines
        clock.lap("rounding_test")
        linker = Linker(self._drawn, context, objects, device_lines, self._varyings, cache)
        linker.start()
        clock.lap("programs")
        # A driver with threads compiles meanwhile.
        textures, framebuffers = self._create_textures(self._textures)
        self._viewport = frame.viewport(manifest.textures, self._gl.integer(GL.GL_MAX_TEXTURE_SIZE))
        vertices, self._first_vertex = frame.vertices(manifest.passes, self._textures, self._varyings, self._viewport)
        self._covering_vertex = len(vertices)
        covering_vertices = frame.covering_vertices(self._varyings)
        self._vertex_buffer = objects.buffer(vertices.tobytes() + covering_vertices.tobytes())
        clock.lap("textures")
        linked = linker.finish()
        self.restored_programs, self.compiled_programs = linked.restored, linked.compiled
        self.handles = Handles(linked.programs, textures, framebuffers)
        clock.lap("programs")
        linker.keep()
        clock.lap("program_cache")
        self._prelude = members[PRELUDE] + device_lines.encode()
        recorder = self._recorder(self.handles)
        calls, self._constant = recorder.constant_uniforms(manifest.passes)
        for function, arguments in calls:
            function(*arguments)
        self.frame = recorder.record(manifest.passes, self._constant, spare_clears=self._draws_at_once)
        clock.lap("textures")

    @cached_property
    def layers(self) -> Mapping[str, list[frame.Call]]:
        """The calls of each layer with passes, by its name. A frame does not use these."""
        by_layer: dict[str, list[Pass]] = {}
        for draw in self._drawn.bundle.manifest.passes:
            by_layer.setdefault(draw.layer, []).append(draw)
        recorder = self._recorder(self.handles)
        return {name: recorder.record(passes, self._constant) for name, passes in by_layer.items()}

    def bind(self) -> None:
        """Set the state that frames rely on: fixed state, vertex arrays, permanent bindings."""
        gl = self._gl
        self._objects.set_fixed_state()
        self._driver.set_blending()
        self._drawn.bind()
        gl.BindBuffer(_ARRAY_BUFFER, self._vertex_buffer)
        stride = 4 * (2 + 4 * self._varyings)
        gl.VertexAttribPointer(0, 2, _FLOAT, 0, stride, None)
        gl.EnableVertexAttribArray(0)
        for index in range(self._varyings):
            gl.VertexAttribPointer(1 + index, 4, _FLOAT, 0, stride, ctypes.c_void_p(4 * (2 + 4 * index)))
            gl.EnableVertexAttribArray(1 + index)

    def resampler(self, channels: int) -> Resampler:
        """Return a resampler for pictures with this number of channels; the caller closes it."""
        return Resampler(self._gl, self._prelude, channels, self._covering_vertex)

    def another_slot(self) -> Slot:
        """Create a slot with the textures of inputs and outputs, which two frames in flight cannot share."""
        manifest = self._drawn.bundle.manifest
        results = {name for output in manifest.outputs for value in output.values for name in textures_of(value)}
        separate = results.union(*(model_input.textures for model_input in manifest.inputs))
        textures, framebuffers = self._create_textures(sorted(separate))
        handles = Handles(
            self.handles.programs, {**self.handles.textures, **textures}, {**self.handles.framebuffers, **framebuffers}
        )
        calls = self._recorder(handles).record(manifest.passes, self._constant, spare_clears=self._draws_at_once)
        return Slot(handles, calls)

    def _recorder(self, handles: Handles) -> frame.Recorder:
        bundle = self._drawn.bundle
        floats = {name: bundle.members[name] for name in bundle.manifest.floats}
        return frame.Recorder(self._gl, handles, self._textures, floats, self._first_vertex, self._viewport)

    def _create_textures(self, names: Iterable[str]) -> tuple[dict[str, int], dict[str, int]]:
        """Create textures and the framebuffers of render targets; return both by the textures' names."""
        textures: dict[str, int] = {}
        framebuffers: dict[str, int] = {}
        if self._draws_at_once:
            self._objects.set_fixed_state()  # a scissor or colour mask would keep a clear from texels
        for name in names:
            texture = self._textures[name]
            cleared = texture.kind == "target" and self._draws_at_once
            unwritten = self._objects.unwritten_texture
            textures[name] = unwritten(texture.width, texture.height) if cleared else self._drawn.texture(texture)
            if texture.kind == "target":
                framebuffers[name] = self._objects.framebuffer(textures[name])
            if cleared:
                self._gl.ClearColor(*(byte / 255.0 for byte in texture.clear))
                self._gl.Clear(GL.GL_COLOR_BUFFER_BIT)
        return textures, framebuffers
