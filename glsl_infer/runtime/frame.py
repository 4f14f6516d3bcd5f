"""A frame as a list of GL calls, computed once and replayed for every picture."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from glsl_infer.gl import constants as GL
from glsl_infer.gl.api import Api
from glsl_infer.gl.objects import Handles
from glsl_infer.program import Pass, Slice, Texture
from glsl_infer.support.ndarray import NDArray

Call = tuple[Callable[..., Any], tuple[Any, ...]]
Doubles = NDArray[np.float64]
Rectangle = tuple[int, int, int, int]

CORNERS = ((0, 0), (1, 0), (0, 1), (0, 1), (1, 0), (1, 1))
"""Corners of the two triangles of a quad."""

_AT_A_TIME = 4096
"""Number of quads whose vertices are computed together, to limit memory."""

_FRAMEBUFFER, _TEXTURE_2D, _TEXTURE0 = GL.GL_FRAMEBUFFER, GL.GL_TEXTURE_2D, GL.GL_TEXTURE0
_COLOR, _TRIANGLES = GL.GL_COLOR_BUFFER_BIT, GL.GL_TRIANGLES


class Recorder:
    """Turns passes into GL calls without redundant changes of state."""

    def __init__(
        self,
        gl: Api,
        handles: Handles,
        textures: Mapping[str, Texture],
        members: Mapping[str, bytes],
        first_vertex: Mapping[int, int],
        viewport: int,
    ) -> None:
        self._gl, self._handles, self._sizes, self._viewport = gl.prepared, handles, textures, viewport
        self._members = {name: np.frombuffer(data, "<f4") for name, data in members.items()}
        self._first_vertex = first_vertex

    def constant_uniforms(self, passes: Iterable[Pass]) -> tuple[list[Call], set[tuple[str, str]]]:
        """Return the calls that set uniforms with one value in the entire frame, and these (program, uniform) pairs."""
        values: dict[tuple[str, str], Any] = {}
        varying: set[tuple[str, str]] = set()
        for draw in passes:
            for name, value in draw.uniforms.items():
                key = (draw.program, name)
                if values.setdefault(key, value) != value:
                    varying.add(key)
        calls: list[Call] = []
        for (program, name), value in values.items():
            if (program, name) not in varying:
                calls.append((self._gl.UseProgram, (self._handles.programs[program].name,)))
                calls += self._uniform(program, name, value)
        return calls, set(values) - varying

    def record(
        self, passes: Sequence[Pass], constant: set[tuple[str, str]], *, spare_clears: bool = False
    ) -> list[Call]:
        """Return the calls that draw passes from any GL state.

        Args:
            passes: complete jobs, in order.
            constant: the (program, uniform) pairs already set.
            spare_clears: omit clears of texels already clear or drawn over later (``drivers.nvidia``).
        """
        gl = self._gl
        spared = needless_clears(passes, self._sizes) if spare_clears else frozenset[int]()
        calls: list[Call] = []
        program: str | None = None
        target: str | None = None
        bound: dict[int, str] = {}
        active: int | None = None
        colour: tuple[int, ...] | None = None
        uniforms: dict[tuple[str, str], Any] = {}
        for draw in passes:
            if draw.target != target:
                target = draw.target
                calls.append((gl.BindFramebuffer, (_FRAMEBUFFER, self._handles.framebuffers[target])))
                if len(calls) == 1:  # only once, after the first framebuffer: all jobs share the viewport
                    calls.append((gl.Viewport, (0, 0, self._viewport, self._viewport)))
            if draw.clear and id(draw) not in spared:
                if self._sizes[draw.target].clear != colour:
                    colour = self._sizes[draw.target].clear
                    calls.append((gl.ClearColor, tuple(ctypes.c_float(byte / 255.0) for byte in colour)))
                calls.append((gl.Clear, (_COLOR,)))
            if draw.program != program:
                program = draw.program
                calls.append((gl.UseProgram, (self._handles.programs[program].name,)))
            # The active unit first: a change there needs no glActiveTexture.
            for unit, texture in sorted(enumerate(draw.textures), key=lambda pair: pair[0] != active):
                if bound.get(unit) != texture:
                    bound[unit] = texture
                    if active != unit:
                        active = unit
                        calls.append((gl.ActiveTexture, (_TEXTURE0 + unit,)))
                    calls.append((gl.BindTexture, (_TEXTURE_2D, self._handles.textures[texture])))
            for name, value in draw.uniforms.items():
                key = (program, name)
                if key not in constant and uniforms.get(key) != value:
                    uniforms[key] = value
                    calls += self._uniform(program, name, value)
            calls.append((gl.DrawArrays, (_TRIANGLES, self._first_vertex[id(draw)], len(CORNERS) * len(draw.quads))))
        return calls

    def _uniform(self, program: str, name: str, value: Any) -> list[Call]:
        location = self._handles.programs[program].locations[name]
        if location < 0:  # the compiler removed it as unused
            return []
        if isinstance(value, Slice):
            values = np.ascontiguousarray(
                self._members[value.member][value.offset : value.offset + value.count], np.float32
            )
            width = 4
        else:
            values = np.array(value, np.float32)
            width = len(value)
        array = (ctypes.c_float * values.size).from_buffer_copy(values.tobytes())
        function = (self._gl.Uniform1fv, self._gl.Uniform2fv, self._gl.Uniform3fv, self._gl.Uniform4fv)[width - 1]
        return [(function, (location, values.size // width, array))]


def needless_clears(passes: Iterable[Pass], textures: Mapping[str, Texture]) -> frozenset[int]:
    """Return the ids of the passes whose clears do not affect a texel at the end of their job.

    A target's first job leaves all texels outside its rectangles clear. A later job with the same rectangles needs no
    clear, and neither does a job that draws every texel.
    """
    jobs: list[tuple[Pass, set[Rectangle]]] = []
    for draw in passes:
        if draw.clear:
            jobs.append((draw, set()))
        jobs[-1][1].update((quad.x, quad.y, quad.width, quad.height) for quad in draw.quads)
    needless = set()
    last_rectangles: dict[str, set[Rectangle]] = {}  # by target
    for first_pass, rectangles in jobs:
        target = first_pass.target
        if last_rectangles.get(target) == rectangles or _covered(textures[target], rectangles):
            needless.add(id(first_pass))
        last_rectangles[target] = rectangles
    return frozenset(needless)


def _covered(target: Texture, rectangles: Iterable[Rectangle]) -> bool:
    """Return whether rectangles cover every texel of a target. In an untrusted bundle they can overlap."""
    texels = np.zeros((target.height, target.width), bool)
    for x, y, width, height in rectangles:
        texels[y : y + height, x : x + width] = True
    return bool(texels.all())


def viewport(textures: Iterable[Texture], largest: int) -> int:
    """Return the width and height of the viewport of all jobs, from (0, 0). Targets share it, to save calls.

    Drivers' limits are powers of two, so that the corners of quads are exact in floats.

    Args:
        textures: those of a bundle.
        largest: GL_MAX_TEXTURE_SIZE, a valid size of a viewport on every driver. It is halved while all textures fit.
    """
    longest = max(max(texture.width, texture.height) for texture in textures)
    side = largest
    while 2 * longest <= side:
        side //= 2
    return side


def vertices(
    passes: Iterable[Pass], textures: Mapping[str, Texture], varyings: int, viewport: int
) -> tuple[NDArray[np.float32], dict[int, int]]:
    """Return the vertices of all passes, (n, 2 + 4 * varyings), and the first vertex of each pass by its id.

    A vertex is its position in clip space, for a viewport of ``viewport`` x ``viewport`` pixels, then the texture
    coordinate of every source, two to a vec4. The fragment of pixel p of a quad gets the centre of texel
    ``origin + stride * p``.
    """
    passes = list(passes)
    counts = [len(draw.quads) for draw in passes]
    count = sum(counts)
    quads = ((quad.x, quad.y, quad.width, quad.height) for draw in passes for quad in draw.quads)
    rectangles = np.fromiter(chain.from_iterable(quads), np.float64, 4 * count).reshape(count, 4)
    steps = np.ones((len(passes), 2 * varyings, 4))
    steps[:, :, :2] = 0.0  # and an origin of -0.5 give unused sources the coordinate 0
    origins = np.full((count, 2 * varyings, 2), -0.5)
    first_vertices: dict[int, int] = {}
    first_quad = 0
    for index, draw in enumerate(passes):
        first_vertices[id(draw)] = len(CORNERS) * first_quad
        end, sources = first_quad + counts[index], len(draw.sources)
        if sources and draw.quads:
            sizes = [textures[draw.textures[source.unit]] for source in draw.sources]
            steps[index, :sources] = [
                (source.stride_x, source.stride_y, size.width, size.height) for source, size in zip(draw.sources, sizes)
            ]
            pairs = chain.from_iterable([quad.origins for quad in draw.quads])
            numbers = np.fromiter(chain.from_iterable(pairs), np.float64, 2 * sources * counts[index])
            origins[first_quad:end, :sources] = numbers.reshape(-1, sources, 2)
        first_quad = end
    pass_indices = np.repeat(np.arange(len(passes)), counts)
    vertices = np.empty((count, len(CORNERS), 2 + 4 * varyings), np.float32)
    for begin in range(0, count, _AT_A_TIME):
        block = slice(begin, begin + _AT_A_TIME)
        _put_corners(vertices[block], rectangles[block], viewport, origins[block], steps[pass_indices[block]])
    return vertices.reshape(len(CORNERS) * count, -1), first_vertices


def _put_corners(
    vertices: NDArray[np.float32], rectangles: Doubles, viewport: int, origins: Doubles, steps: Doubles
) -> None:
    """Compute the vertices of n quads: the first and the last along each axis, which the six corners combine.

    Args:
        vertices: receives them: (n, 6, 2 + 2 * sources).
        rectangles: (n, 4): x, y, width and height.
        viewport: its width and height.
        origins: (n, sources, 2).
        steps: (n, sources, 4): strides along x and y, width and height of the texture.
    """
    ends = []
    for end in (0, 1):
        offsets = end * rectangles[:, 2:]
        positions = 2.0 * (rectangles[:, :2] + offsets) / viewport - 1.0  # row 0 of a texture is at -1
        coordinates = (origins + 0.5 + steps[:, :, :2] * (offsets[:, None] - 0.5)) / steps[:, :, 2:]
        row = np.empty((len(rectangles), vertices.shape[2]), np.float32)
        row[:, :2], row[:, 2:] = positions, coordinates.reshape(len(rectangles), -1)
        ends.append(row)
    for index, (x, y) in enumerate(CORNERS):
        vertices[:, index, 0::2] = ends[x][:, 0::2]
        vertices[:, index, 1::2] = ends[y][:, 1::2]


def covering_vertices(varyings: int) -> NDArray[np.float32]:
    """Return six vertices, in the layout of ``vertices``, that cover a viewport of any size."""
    corners = np.zeros((len(CORNERS), 2 + 4 * varyings), np.float32)
    corners[:, :2] = 2.0 * np.array(CORNERS) - 1.0
    return corners
