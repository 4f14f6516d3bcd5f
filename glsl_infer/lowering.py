"""Graph -> program: every operator appends its textures, shaders and passes to a ``Builder``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from glsl_infer import codegen, ops
from glsl_infer.activations import NAMES
from glsl_infer.activations import activation as activation_called
from glsl_infer.errors import InputError, ModelError
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.layout import MAX_TEXTURE_SIZE, FeatureMap, FixedPoint, Value, place_atlas
from glsl_infer.ops.operator import ViewOperator
from glsl_infer.program import PRELUDE, Pass, Program, Quad, ShaderProgram, Slice, Source, Texture, UniformValue
from glsl_infer.resources import template

WEIGHTS_MODES = ("auto", "baked", "uniform")

AUTO_BAKED_SLICES = 8
"""``auto`` bakes the weights of layers of at most this many slices: few programs, compiled fast ..."""

AUTO_UNIFORM_VECTORS = 120
"""... and of layers whose uniform array would be longer than this: an older Pi driver has 136 vec4 in all."""


def to_program(graph: Graph, *, weights: str = "auto") -> Program:
    """Turn an optimised graph with fixed-point scales into textures, shaders and passes.

    Args:
        graph: what ``fixed_point.prepare`` returned.
        weights: ``baked`` (constants, a program for each slice), ``uniform`` (an array, a program for each
            kind of layer) or ``auto`` (each where it costs less).

    Raises:
        ModelError: a layer that the shaders cannot do, by name.
        InputError: an unknown weights mode.
    """
    if weights not in WEIGHTS_MODES:
        raise InputError(f"weights '{weights}'; choose one of {', '.join(WEIGHTS_MODES)}")
    builder = Builder(graph, weights)
    for node in graph.nodes:
        ops.get(node.op).passes(node, builder)
    if not isinstance(builder.values[graph.output], FixedPoint):
        raise ModelError.layer(
            graph.output, "the network ends in a feature map", "end it with GlobalAveragePooling2D and Dense"
        )
    return builder.finish()


class Builder:
    """Collects what operators append; see ``Operator.passes``."""

    def __init__(self, graph: Graph, weights: str) -> None:
        self.graph = graph
        self.shapes: Mapping[str, Shape] = graph.shapes
        self.values: dict[str, Value] = {}
        self._weights = weights
        self._gutters = _gutters(graph)
        self._textures: dict[str, Texture] = {}
        self._programs: dict[tuple[int, str], ShaderProgram] = {}
        self._passes: list[Pass] = []
        self._modes: dict[str, str] = {}
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

    def set_value(self, node: Node, value: Value) -> None:
        """Say where the output of ``node`` lies without allocating anything."""
        self.values[node.name] = value

    def allocate_map(self, node: Node) -> FeatureMap:
        """Allocate the target texture of a feature map, with the gutter that its readers need."""
        return self._place(node, "target")

    def input_map(self, node: Node) -> FeatureMap:
        """Allocate the texture that the runner uploads the picture to."""
        return self._place(node, "input")

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

    # Choices and refusals -------------------------------------------------------------------------

    def weights_mode(self, node: Node, *, slices: int, vectors: int) -> str:
        """Return ``baked`` or ``uniform`` for a layer of that many slices and vec4 of weights a slice."""
        mode = self._weights
        if mode == "auto":
            mode = "baked" if slices <= AUTO_BAKED_SLICES or vectors > AUTO_UNIFORM_VECTORS else "uniform"
        self._modes[node.name] = mode
        return mode

    def require_8_bits(self, node: Node, activation: str) -> None:
        """Refuse a feature map whose values do not lie in [0, 1]."""
        if not activation_called(activation).fits_8_bits:
            fitting = ", ".join(NAMES)
            raise ModelError.layer(
                node.name,
                f"a feature map with activation '{activation}' has values outside [0, 1]",
                f"follow the layer with one of: {fitting}",
            )

    # Shaders --------------------------------------------------------------------------------------

    def texel(self, texture: str) -> list[float]:
        """Return the size of one texel in texture coordinates."""
        return [1.0 / self._textures[texture].width, 1.0 / self._textures[texture].height]

    # Passes ---------------------------------------------------------------------------------------

    def draw(
        self,
        node: Node,
        fragment: str,
        target: str,
        *,
        samplers: Sequence[tuple[str, str]],
        sources: Sequence[tuple[int, float, float]],
        quads: Sequence[Quad],
        uniforms: Mapping[str, Sequence[float] | Slice],
        part: int | None = None,
    ) -> None:
        """Append a pass.

        Args:
            node: the layer it belongs to.
            fragment: the fragment shader; equal texts share a program.
            target: name of the texture it renders into.
            samplers: (uniform, texture) for each texture unit in use.
            sources: (unit, stride x, stride y) in the order of the varyings.
            quads: what is drawn.
            uniforms: values of the other uniforms; those that the shader does not use are left out.
            part: number of the slice, for shaders that serve only one.
        """
        textures = tuple(texture for _, texture in samplers)
        assert target not in textures, f"{node.name}: feedback"
        values: dict[str, UniformValue] = {
            name: value if isinstance(value, Slice) else tuple(value)
            for name, value in uniforms.items()
            if _uses(fragment, name)
        }
        program = self._program(node, fragment, len(sources), samplers, values, part)
        first = not self._passes or self._passes[-1].target != target
        self._passes.append(
            Pass(
                node.name,
                program.name,
                target,
                first,
                textures,
                tuple(Source(*source) for source in sources),
                tuple(quads),
                values,
            )
        )

    def finish(self) -> Program:
        """Return everything that was appended."""
        return Program(
            self.graph,
            tuple(self._textures.values()),
            tuple(self._programs.values()),
            tuple(self._passes),
            self.values,
            self._modes,
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
        part: int | None,
    ) -> ShaderProgram:
        varyings = codegen.varyings(sources)
        known = self._programs.get((varyings, fragment))
        if known is not None:
            return known
        name = self._file_name(node.name) if part is None else f"{self._file_name(node.name)}.{part}"
        taken = {program.name for program in self._programs.values()}
        if name in taken:
            name = next(f"{name}~{index}" for index in range(2, 9999) if f"{name}~{index}" not in taken)
        vertex_member, fragment_member = f"shaders/quads{varyings}.vert", f"shaders/{name}.frag"
        self._members[vertex_member] = codegen.vertex(sources).encode()
        self._members[fragment_member] = fragment.encode()
        lengths = {key: value.count if isinstance(value, Slice) else len(value) for key, value in values.items()}
        program = ShaderProgram(
            name, vertex_member, fragment_member, tuple(sampler for sampler, _ in samplers), varyings, lengths
        )
        self._programs[varyings, fragment] = program
        return program

    def _place(self, node: Node, kind: str) -> FeatureMap:
        height, width, channels = self.shapes[node.name]
        name = self._file_name(node.name)
        placed = place_atlas(name, height, width, channels, self._gutters[node.name])
        if placed is None:
            raise ModelError.layer(
                node.name,
                f"its output of {height}x{width} pixels and {channels} channels fits no texture of "
                f"{MAX_TEXTURE_SIZE}x{MAX_TEXTURE_SIZE}",
                "use a smaller picture or fewer channels",
            )
        (texture_width, texture_height), value = placed
        self._textures[name] = Texture(name, texture_width, texture_height, kind)
        self.values[node.name] = value
        return value

    def _allocate_fixed(self, node: Node, value: FixedPoint) -> FixedPoint:
        self._textures[value.texture] = Texture(value.texture, *value.size, "target")
        self.values[node.name] = value
        return value

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


def _gutters(graph: Graph) -> dict[str, int]:
    """Return how many texels of zeros each output needs around its tiles."""
    gutters: dict[str, int] = {}
    for node in reversed(graph.nodes):
        needed = 0
        for reader in graph.consumers[node.name]:
            operator = ops.get(reader.op)
            if isinstance(operator, ViewOperator):
                needed = max(needed, gutters[reader.name])
            elif reader.inputs[0] == node.name:
                needed = max(needed, operator.padding(reader))
        gutters[node.name] = needed
    return gutters


def _uses(fragment: str, uniform: str) -> bool:
    """Return whether the shader reads the uniform: mentions it, comments aside, after declaring it."""
    return len(re.findall(rf"\b{uniform}\b", re.sub(r"//[^\n]*", "", fragment))) > 1
