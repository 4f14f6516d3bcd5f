"""Collects the textures, shaders and passes that operators append; see ``Operator.passes``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.lowering import codegen, weights_plan
from glsl_infer.lowering.bindings import Binding, Read
from glsl_infer.lowering.cut_sums import Typical
from glsl_infer.program import (
    PRELUDE,
    Pass,
    Program,
    Quad,
    ShaderProgram,
    Slice,
    Source,
    Texture,
    UniformValue,
    WeightsChoice,
)
from glsl_infer.program.layout import (
    MAX_TEXTURE_SIZE,
    FeatureMap,
    FixedMap,
    FixedPoint,
    Grid,
    Placement,
    Share,
    Value,
    View,
    clear_colours,
    place,
    slices_of,
    textures_of,
)
from glsl_infer.program.templates import vertex_shader
from glsl_infer.support.resources import template

Uniforms = Mapping[str, "Sequence[float] | Slice"]


class Builder:
    """A program in the making.

    Attributes:
        graph: what is built.
        shapes: shape of every node's output.
        values: where the outputs of the nodes so far lie.
        grids: the ways in which the tiles of each texture could be arranged.
        typical: what the layers' outputs are like.
    """

    def __init__(
        self,
        graph: Graph,
        weights: str,
        weights_for: Mapping[str, str],
        layout: str,
        gutters: Mapping[str, int],
        shares: Mapping[str, Share],
        typical: Typical,
        uniform_vectors: int = weights_plan.UNIFORM_VECTORS,
    ) -> None:
        self.graph = graph
        self.shapes: Mapping[str, Shape] = graph.shapes
        self.values: dict[str, Value] = {}
        self.grids: dict[str, tuple[Grid, ...]] = {}
        self.typical = typical
        self._weights, self._weights_for, self._layout = weights, weights_for, layout
        self._gutters, self._shares, self._uniform_vectors = gutters, shares, uniform_vectors
        self._columns = {name: share.columns for name, share in shares.items()}
        self._textures: dict[str, Texture] = {}
        self._programs: dict[tuple[int, str], ShaderProgram] = {}
        self._program_names: set[str] = set()
        self._passes: list[Pass] = []
        self._choices: dict[str, WeightsChoice] = {}
        self._rounded: dict[str, Node] = {}
        self._members: dict[str, bytes] = {PRELUDE: template("prelude.glsl").encode()}
        self._weight_members: dict[str, tuple[str, ...]] = {}
        self._file_names: dict[str, str] = {}

    # Values ---------------------------------------------------------------------------------------

    def feature_map(self, name: str) -> FeatureMap:
        """Return where the feature map that ``name`` computes lies."""
        value = self.values[name]
        if not isinstance(value, FeatureMap):
            raise ModelError.layer(name, "its output is a vector", "a feature map is needed here")
        return value

    def fixed_point(self, name: str) -> FixedPoint:
        """Return where the vector or the partial sums that ``name`` computes lie."""
        value = self.values[name]
        if not isinstance(value, FixedPoint):
            raise ModelError.layer(name, "its output is a feature map", "a vector is needed here")
        return value

    def fixed_map(self, name: str) -> FixedMap:
        """Return where the 16-bit feature map that ``name`` computes lies."""
        value = self.values[name]
        assert isinstance(value, FixedMap), name
        return value

    def shows_alpha(self, value: FeatureMap) -> bool:
        """Return whether lanes beyond the last channel hold the picture's alpha, and not 0."""
        (picture,) = textures_of(self.values[self.graph.input.name])
        return value.channels % 4 != 0 and value.views[-1].texture == picture

    def set_value(self, node: Node, value: Value) -> None:
        """Say where the output of ``node`` lies without allocating anything."""
        self.values[node.name] = value

    def allocate_map(
        self, node: Node, *, scales: tuple[float, ...], zeros: tuple[float, ...], kind: str = "target"
    ) -> FeatureMap:
        """Allocate the textures of a feature map of some range, with the gutter that its readers need.

        A texture is cleared to one colour, so slices with different zero points get textures of their own where they
        have a gutter. ``kind`` is ``input`` for the picture, which the runner uploads.
        """
        height, width, channels = self.shapes[node.name]
        gutter = self._gutters[node.name]
        slices = slices_of(channels)
        colours = [(0, 0, 0, 0)] * slices
        if gutter and kind == "target":
            if any(zero != int(zero) or not 0 <= zero <= 255 for zero in zeros):
                raise ModelError.layer(
                    node.name,
                    "padding around values of which no byte is 0",
                    "let a 1x1 convolution of the picture come first, or take the picture over [0, 1]",
                )
            colours = clear_colours(zeros, channels)
        views: dict[int, View] = {}
        name, distinct = self._file_name(node.name), list(dict.fromkeys(colours))
        for number, colour in enumerate(distinct):
            members = [index for index, one in enumerate(colours) if one == colour]
            group = name if len(distinct) == 1 else f"{name}.{number}"
            layout = self._layout if kind == "target" else "atlas"
            placed = place(group, height, width, len(members), gutter, layout, self._columns)
            views.update(zip(members, self._add_textures(node, placed, kind, colour)))
        value = FeatureMap(
            height, width, channels, gutter, tuple(views[index] for index in range(slices)), scales, zeros
        )
        self.values[node.name] = value
        return value

    def allocate_fixed_map(self, node: Node, blocks: int, scale: float) -> FixedMap:
        """Allocate the textures of a 16-bit feature map of ``blocks`` times equally many channels.

        The tiles of a slice of all blocks lie in one texture, in a grid that is the same for all slices.
        """
        height, width, channels = self.shapes[node.name]
        slices, tiles = channels // 4 // blocks, 2 * blocks
        columns = _near_square(tiles, height, width)
        rows = slices_of(tiles, columns)
        placed = place(
            self._file_name(node.name), rows * height, columns * width, slices, 0, self._layout, self._columns
        )
        corners = self._add_textures(node, placed, "target", (0, 0, 0, 0))
        views = tuple(
            View(corner.texture, corner.x + tile % columns * width, corner.y + tile // columns * height)
            for block in range(blocks)
            for corner in corners
            for tile in (2 * block, 2 * block + 1)
        )
        value = FixedMap(height, width, channels, scale, views)
        self.values[node.name] = value
        return value

    def allocate_vector(self, node: Node, length: int, scale: float) -> FixedPoint:
        """Allocate the target texture of a vector."""
        return self._allocate_fixed(node, FixedPoint(self._file_name(node.name), 0, length, scale))

    def allocate_sums(self, node: Node, columns: int, length: int, scale: float) -> FixedPoint:
        """Allocate the target texture of partial sums."""
        return self._allocate_fixed(node, FixedPoint(self._file_name(node.name), columns, length, scale))

    def constant_texture(self, node: Node, width: int, height: int, texels: bytes) -> str:
        """Add a texture of weights to the bundle; return its name."""
        name = f"{self._file_name(node.name)}.weights"
        member = self.weights(node, ".rgba", texels)
        self._textures[name] = Texture(name, width, height, "constant", member)
        return name

    def weights(self, node: Node, suffix: str, data: bytes) -> str:
        """Add a member with the weights of ``node``; return its name."""
        member = f"weights/{self._file_name(node.name)}{suffix}"
        self._members[member] = data
        self._weight_members[node.name] = (*self._weight_members.get(node.name, ()), member)
        return member

    def weights_choice(self, layer: weights_plan.Layer) -> str:
        """Return ``baked``, ``uniform`` or ``texture`` for a layer's weights."""
        untextured = layer.untextured
        if self._layout == "planar":
            untextured = "each slice has a texture of its own"
        alone = self._weights_for.get(layer.name)
        asked = replace(layer, untextured=untextured)
        choice = weights_plan.choose(asked, self._weights, alone, self._uniform_vectors)
        self._choices[layer.name] = choice
        return choice.mode

    def replace_weights(self, node: Node, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Say what the weights of ``node`` are in truth, where shaders have them rounded."""
        self._rounded[node.name] = replace(node, weights=weights)

    def texel(self, texture: str) -> list[float]:
        """Return the size of one texel in texture coordinates."""
        return [1.0 / self._textures[texture].width, 1.0 / self._textures[texture].height]

    def position(self, view: View, x: float = 0.0, y: float = 0.0) -> tuple[float, float]:
        """Return the texture coordinate of the point (x, y), in texels from the first corner of the tile."""
        texture = self._textures[view.texture]
        return (view.x + x) / texture.width, (view.y + y) / texture.height

    # Passes ---------------------------------------------------------------------------------------

    def bind(self, node: Node, **roles: Sequence[Read]) -> Binding:
        """Return the binding of a draw that reads these views; see ``Binding``."""
        return Binding(node.name, self._textures, **roles)

    def draw_tile(
        self,
        node: Node,
        fragment: str,
        target: View,
        size: tuple[int, int],
        binding: Binding,
        uniforms: Uniforms,
        part: str | None = None,
    ) -> None:
        """Append a pass that draws one tile of ``size`` (width, height) pixels; see ``draw``."""
        self.draw(
            node,
            fragment,
            target.texture,
            samplers=binding.samplers,
            sources=binding.sources,
            quads=[Quad(target.x, target.y, *size, tuple(binding.origins))],
            uniforms=uniforms,
            part=part,
        )

    def draw(
        self,
        node: Node,
        fragment: str,
        target: str,
        *,
        samplers: Sequence[tuple[str, str]],
        sources: Sequence[Source],
        quads: Sequence[Quad],
        uniforms: Uniforms,
        part: str | None = None,
    ) -> None:
        """Append a pass, or add its quads to the last one where nothing else differs.

        Args:
            node: the layer it belongs to.
            fragment: the fragment shader; equal texts share a program.
            target: name of the texture it renders into.
            samplers: (uniform, texture) for each texture unit in use.
            sources: what the fragments read, in the order of the varyings.
            quads: what is drawn.
            uniforms: values of the other uniforms; those that the shader does not use are left out, and their
                declarations of a vec2 too: a reader refuses a uniform that no pass sets.
            part: what of the layer it draws, for the name of shaders that serve only that.
        """
        textures = tuple(texture for _, texture in samplers)
        assert target not in textures, f"{node.name}: feedback"
        values: dict[str, UniformValue] = {
            name: value if isinstance(value, Slice) else tuple(float(number) for number in value)
            for name, value in uniforms.items()
            if _uses(fragment, name)
        }
        fragment = _UNIFORM.sub(lambda line: "" if line[1] in uniforms and line[1] not in values else line[0], fragment)
        program = self._program(node, fragment, len(sources), samplers, values, part)
        at = self._after_target(node.name, target)
        last = self._passes[at - 1] if at else None
        clear = last is None or last.target != target
        one = Pass(node.name, program.name, target, clear, textures, tuple(sources), tuple(quads), values)
        if last is not None and replace(last, clear=False, quads=()) == replace(one, clear=False, quads=()):
            self._passes[at - 1] = replace(last, quads=last.quads + one.quads)
        else:
            self._passes.insert(at, one)

    def _after_target(self, layer: str, target: str) -> int:
        """Return where to insert a pass: behind the layer's last into ``target``, which is cleared only once."""
        for index in range(len(self._passes), 0, -1):
            if self._passes[index - 1].layer != layer:
                break
            if self._passes[index - 1].target == target:
                return index
        return len(self._passes)

    def finish(self) -> Program:
        """Return everything that was appended."""
        nodes = tuple(self._rounded.get(node.name, node) for node in self.graph.nodes)
        return Program(
            replace(self.graph, nodes=nodes),
            tuple(self._textures.values()),
            tuple(self._programs.values()),
            tuple(self._passes),
            self.values,
            self._choices,
            self._members,
            self._weight_members,
        )

    def _program(
        self,
        node: Node,
        fragment: str,
        sources: int,
        samplers: Sequence[tuple[str, str]],
        values: Mapping[str, UniformValue],
        part: str | None,
    ) -> ShaderProgram:
        varyings = codegen.varyings(sources)
        known = self._programs.get((varyings, fragment))
        if known is not None:
            return known
        name = self._file_name(node.name) if part is None else f"{self._file_name(node.name)}.{part}"
        if name in self._program_names:
            name = next(new for index in range(2, 9999) if (new := f"{name}~{index}") not in self._program_names)
        self._program_names.add(name)
        vertex_member, fragment_member = f"shaders/quads{varyings}.vert", f"shaders/{name}.frag"
        self._members[vertex_member] = vertex_shader(varyings).encode()
        self._members[fragment_member] = fragment.encode()
        lengths = {key: value.count if isinstance(value, Slice) else len(value) for key, value in values.items()}
        program = ShaderProgram(
            name, vertex_member, fragment_member, tuple(sampler for sampler, _ in samplers), varyings, lengths
        )
        self._programs[varyings, fragment] = program
        return program

    def _add_textures(
        self, node: Node, placed: Placement | None, kind: str, clear: tuple[int, int, int, int]
    ) -> tuple[View, ...]:
        if placed is None:
            height, width, channels = self.shapes[node.name]
            raise ModelError.layer(
                node.name,
                f"its output of {height}x{width} pixels and {channels} channels fits no texture of "
                f"{MAX_TEXTURE_SIZE}x{MAX_TEXTURE_SIZE}",
                "use a smaller picture or fewer channels",
            )
        names = {
            name: self._add_texture(Texture(name, width, height, kind, clear=clear), possible)
            for (name, width, height), possible in zip(placed.textures, placed.grids)
        }
        return tuple(replace(view, texture=names[view.texture]) for view in placed.views)

    def _allocate_fixed(self, node: Node, value: FixedPoint) -> FixedPoint:
        own = Texture(value.texture, *value.size, "target")
        value = replace(value, texture=self._add_texture(own, (Grid(1, *value.size),)))
        self.values[node.name] = value
        return value

    def _add_texture(self, own: Texture, possible: tuple[Grid, ...]) -> str:
        """Add a texture, or the one that it shares with others; return the name of what was added."""
        self.grids[own.name] = possible
        share = self._shares.get(own.name)
        if share is not None:
            own = replace(own, name=share.texture, width=share.width, height=share.height)
        self._textures[own.name] = own
        return own.name

    def _file_name(self, layer: str) -> str:
        """Return the layer's name made safe for a file, and unique."""
        if layer not in self._file_names:
            safe = re.sub(r"[^A-Za-z0-9_-]", "_", layer)
            taken = set(self._file_names.values())
            self._file_names[layer] = next(
                name
                for index in range(len(taken) + 1)
                if (name := safe if not index else f"{safe}_{index}") not in taken
            )
        return self._file_names[layer]


def _near_square(tiles: int, height: int, width: int) -> int:
    """Return into how many columns to put tiles so that they make a rectangle as square as possible."""
    return min(range(1, tiles + 1), key=lambda columns: max(columns * width, slices_of(tiles, columns) * height))


_UNIFORM = re.compile(r"^uniform vec2 (\w+);\n", re.MULTILINE)


def _uses(fragment: str, uniform: str) -> bool:
    """Return whether the shader reads the uniform: mentions it, comments aside, after declaring it."""
    return _mentions(fragment)[uniform] > 1


@lru_cache(maxsize=64)  # slices of a layer often share their shader
def _mentions(fragment: str) -> Counter[str]:
    """Return how often the shader has each name, comments aside."""
    return Counter(re.findall(r"\w+", re.sub(r"//[^\n]*", "", fragment)))
