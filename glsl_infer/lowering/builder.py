"""Builder of a program, to which operators append shaders and passes (``Operator.passes``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, Node
from glsl_infer.lowering import codegen, sixteen_bit, weights_plan
from glsl_infer.lowering.allocation import Allocation, Storage
from glsl_infer.lowering.bindings import MAX_SOURCES, Binding, DrawCall, Read, Uniforms
from glsl_infer.lowering.calibration_maps import CalibrationMaps, Texels, convolved_map
from glsl_infer.lowering.frame_cost import frame_cost
from glsl_infer.lowering.target import Target
from glsl_infer.program import PRELUDE, CompiledNetwork, Pass, Quad, ShaderProgram, Slice, Source
from glsl_infer.program.layout import FeatureMap, FixedPoint, View, stored, textures_of
from glsl_infer.program.program import UniformValue
from glsl_infer.program.templates import vertex_shader
from glsl_infer.support.resources import template

MOST_SIXTEEN_BIT = 0.5
"""Share of 16-bit maps above which accuracy is preferred to speed."""


@dataclass(frozen=True)
class FinerOffer:
    """Alternative to the 8-bit weights of a convolution in a texture.

    Attributes:
        current, finer: properties of the weights with 8 bits, and with more.
        rounded: function that returns the layer with the weights of its texture.
    """

    current: weights_plan.LayerWeights
    finer: weights_plan.LayerWeights
    rounded: Callable[[], Node]


class Builder(Allocation):
    """A program under construction: allocated values, and the passes that draw them.

    Args:
        graph: a prepared graph.
        target: options of code generation.
        storage: see ``Allocation``.
        calibration_maps: layer outputs for calibration images.
        exact: layers whose weights need more than 8 bits.
        planning: compute only values, costs and lifetimes of textures. Convolutions then neither pack their weights nor
            generate shader source.

    Attributes:
        draw_cost: estimated microseconds of a draw call.
        weight_bits: one of ``texture_choice.WEIGHT_BITS``, for weights in textures.
        layer_weights: properties of the weights of each layer with a choice of modes.
        offers: in a plan, the layers whose weights have 8 bits in a texture.
        convolutions: in a plan, (work, draws) of the convolutions, in order.
        rounded: layers with the rounded weights of their shaders.
        tolerates_rounding: whether 16-bit maps are few, so that the weights of their readers can lose precision for
            speed.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        storage: Storage,
        calibration_maps: CalibrationMaps,
        exact: Collection[str] = (),
        *,
        planning: bool = False,
    ) -> None:
        super().__init__(graph, target.layout, storage)
        self._members[PRELUDE] = template("prelude.glsl").encode()
        self._target, self.calibration_maps = target, calibration_maps
        self.draw_cost, self.weight_bits = target.draw_cost, target.weight_bits
        self.planning = planning
        self.tolerates_rounding = [*storage.bits.values()].count(16) <= MOST_SIXTEEN_BIT * len(storage.bits)
        self.exact, self.offers = exact, dict[str, FinerOffer]()
        self.layer_weights = dict[str, weights_plan.LayerWeights]()
        self.convolutions = dict[str, tuple[float, int]]()
        self._programs: dict[tuple[int, str], ShaderProgram] = {}
        self._program_names: set[str] = set()
        self._passes: list[Pass] = []
        self._insert_at: dict[str, int] = {}  # index after the last pass of the current layer, by target
        self.rounded: dict[str, Node] = {}
        self._second_halves: list[DrawCall] = []

    def weights_choice(self, layer: weights_plan.LayerWeights) -> str:
        """Return ``baked``, ``uniform`` or ``texture`` for a layer's weights, and record the choice."""
        self.layer_weights[layer.name] = layer
        return self._target.choice(layer).mode

    def plan_convolution(self, node: Node, layer: weights_plan.LayerWeights, mode: str) -> None:
        """Add the cost of a convolution and its draws to a plan."""
        target = self.feature_map(node.name)
        reads, *adds = (source.bits == 16 for source in self.maps_of(node))
        extra = weights_plan.sixteen_bit_work(layer, reads=reads, adds=any(adds), stores=target.bits == 16)
        if self.gate(node) is not None:
            extra += layer.slices * layer.pixels * layer.columns * weights_plan.GATE
        draws = 1 if layer.in_pairs else self.times(node, target)[0]
        work = weights_plan.work(layer, mode) + extra
        self.convolutions[node.name] = work, draws if mode == "texture" else layer.slices
        self.plan_draws(node, textures_of(target))

    def plan_draws(self, node: Node, targets: Iterable[str]) -> None:
        """Append a pass without a shader for each target to a plan."""
        self.append_second_halves()
        textures = tuple(dict.fromkeys(texture for name in node.inputs for texture in textures_of(self.values[name])))
        self._passes += [Pass(node.name, "", target, True, textures, (), (), {}) for target in targets]

    @property
    def passes(self) -> Sequence[Pass]:
        """Passes so far, without those that ``append_second_halves`` would append."""
        return self._passes

    @property
    def cost(self) -> weights_plan.Cost:
        """Cost of all layers so far."""
        return frame_cost(self.graph, self._storage.bits, self.convolutions, [entry.layer for entry in self._passes])

    def maps_of(self, node: Node) -> list[FeatureMap]:
        """Return a convolution's input map, and the map of its residual if it has one."""
        return [self.feature_map(name) for name in node.inputs if len(self.shapes[name]) == 3]

    def gate(self, node: Node) -> FixedPoint | None:
        """Return the vector with which a convolution multiplies the channels of its input, if any."""
        values = (self.values[name] for name in node.inputs)
        return next((value for value in values if isinstance(value, FixedPoint)), None)

    def calibration_input(self, node: Node) -> Texels:
        """Return the texels that a convolution multiplies with its weights for calibration images."""
        source = self.feature_map(node.inputs[0])
        alpha = self.shows_alpha(source)
        name = convolved_map(node, self.shapes)
        return self.calibration_maps.texels(name, source, node.attrs["padding"], alpha=alpha)

    def replace_weights(self, node: Node, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Record the rounded weights of a node, as its shaders contain them."""
        self.rounded[node.name] = replace(node, weights=weights)

    def bind(self, node: Node, **roles: Sequence[Read]) -> Binding:
        """Return the ``Binding`` of a draw with these reads."""
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
        """Append a pass that draws a tile of ``size`` (width, height) pixels; for other arguments see ``DrawCall``."""
        self.draw(
            DrawCall(
                node,
                fragment,
                target.texture,
                samplers=binding.samplers,
                sources=binding.sources,
                quads=[Quad(target.x, target.y, *size, tuple(binding.origins))],
                uniforms=uniforms,
                part=part,
                half=target.half,
                halves=binding.halves,
            )
        )

    def draw(self, draw: DrawCall) -> None:
        """Append a pass, or add its quads to the last pass if nothing else differs; two passes for 16 bits."""
        node = draw.node
        fragment, uniforms = codegen.large_as_constants(draw.fragment, draw.uniforms)
        if len(uniforms) != len(draw.uniforms):
            draw = replace(draw, fragment=fragment, uniforms=uniforms)
        if self._second_halves and self._second_halves[0].node is not node:
            self.append_second_halves()
        draw = self._reading_second_halves(draw)
        if not draw.half:
            self._append(draw)
        elif sixteen_bit.at_once(self.shapes[node.name]) and draw.sources and len(draw.sources) < MAX_SOURCES:
            self._append(self._storing_both_halves(draw))
        else:
            first, second = (sixteen_bit.storing(node.name, draw.fragment, lanes) for lanes in sixteen_bit.HALVES)
            self._append(replace(draw, fragment=first))
            self._second_halves.append(replace(draw, fragment=second, quads=_second_half_quads(draw)))

    def _reading_second_halves(self, draw: DrawCall) -> DrawCall:
        """Return a draw whose shader also fetches the second halves of its 16-bit inputs, if it has any."""
        halves_below = {sampler: down for sampler, down in draw.halves.items() if down}
        if not halves_below:
            return draw
        textures = dict(draw.samplers)
        heights = {sampler: self._textures[textures[sampler]].height for sampler in halves_below}
        distances = {sixteen_bit.down(name): [down / heights[name]] for name, down in halves_below.items()}
        fragment = sixteen_bit.reading(draw.fragment, frozenset(halves_below))
        return replace(draw, fragment=fragment, uniforms={**draw.uniforms, **distances})

    def _storing_both_halves(self, draw: DrawCall) -> DrawCall:
        """Return a draw with quads for both halves of its 16-bit output; an additional source selects the half."""
        unit = draw.sources[0].unit
        lower_from = {sixteen_bit.LOWER_FROM: [1.0 / self._textures[draw.samplers[unit][1]].height]}
        quads = [
            replace(quad, origins=(*quad.origins, (0, half)))
            for halves in zip(draw.quads, _second_half_quads(draw))
            for half, quad in enumerate(halves)
        ]
        return replace(
            draw,
            fragment=sixteen_bit.storing_either(draw.node.name, draw.fragment, len(draw.sources)),
            sources=[*draw.sources, Source(unit, 0.0, 0.0)],
            quads=quads,
            uniforms={**draw.uniforms, **lower_from},
        )

    def times(self, node: Node, target: FeatureMap) -> tuple[int, int]:
        """Return (draws of each slice of a node's output, stores of each pixel in a draw)."""
        if target.bits == 8:
            return 1, 1
        return (1, 2) if sixteen_bit.at_once(self.shapes[node.name]) else (2, 1)

    def append_second_halves(self) -> None:
        """Append the draws of second tiles, after all draws of first tiles, so that equal ones become one pass."""
        second_halves, self._second_halves = self._second_halves, []
        for entry in second_halves:
            self._append(entry)

    def _append(self, draw: DrawCall) -> None:
        """Append a draw as a pass after the layer's passes into its target, or merge it with the last of them."""
        node, fragment, target, sources = draw.node, draw.fragment, draw.target, draw.sources
        textures = tuple(texture for _, texture in draw.samplers)
        assert target not in textures, f"{node.name}: feedback"
        values: dict[str, UniformValue] = {
            name: value if isinstance(value, Slice) else tuple(float(number) for number in value)
            for name, value in draw.uniforms.items()
            if codegen.uses(fragment, name)
        }
        fragment = codegen.without_uniforms(fragment, tuple(name for name in draw.uniforms if name not in values))
        program = self._program(draw, fragment, values)
        index = self._after_target(node.name, target)
        last = self._passes[index - 1] if index else None
        clear = last is None or last.target != target
        entry = Pass(node.name, program.name, target, clear, textures, tuple(sources), tuple(draw.quads), values)
        if last is not None and last.continued_by(entry):
            self._passes[index - 1] = replace(last, quads=last.quads + entry.quads)
        else:
            if index < len(self._passes):
                self._insert_at = {name: end + (end > index) for name, end in self._insert_at.items()}
            self._passes.insert(index, entry)
            self._insert_at[target] = index + 1

    def _after_target(self, layer: str, target: str) -> int:
        """Return the index after the layer's last pass into ``target``, for inserting another.

        Passes into the same target are adjacent, so that it is cleared only once.
        """
        if self._passes and self._passes[-1].layer != layer:
            self._insert_at = {}
        return self._insert_at.get(target, len(self._passes))

    def finish(self) -> CompiledNetwork:
        """Return the compiled network."""
        self.append_second_halves()
        return CompiledNetwork(
            replace(self.graph, nodes=tuple(self.rounded.get(node.name, node) for node in self.graph.nodes)),
            tuple(self._textures.values()),
            tuple(self._programs.values()),
            tuple(map(with_columns, self._passes)),
            {name: stored(value) for name, value in self.values.items()},
            {name: self._target.choice(layer) for name, layer in self.layer_weights.items()},
            self._members,
            self._weight_members,
            calibration_data=self.calibration_maps.calibration_data,
            exact=tuple(sorted(self.exact)),
        )

    def _program(self, draw: DrawCall, fragment: str, values: Mapping[str, UniformValue]) -> ShaderProgram:
        """Return the program of a draw, added if no draw had its text and its number of varyings before."""
        varyings = codegen.varyings(len(draw.sources))
        if (varyings, fragment) in self._programs:
            return self._programs[varyings, fragment]
        file_name = self._file_name(draw.node.name)
        name = file_name if draw.part is None else f"{file_name}.{draw.part}"
        if name in self._program_names:
            name = next(new for index in range(2, 9999) if (new := f"{name}~{index}") not in self._program_names)
        self._program_names.add(name)
        vertex_member, fragment_member = f"shaders/quads{varyings}.vert", f"shaders/{name}.frag"
        self._members[vertex_member] = vertex_shader(varyings).encode()
        self._members[fragment_member] = fragment.encode()
        lengths = {key: value.count if isinstance(value, Slice) else len(value) for key, value in values.items()}
        program = ShaderProgram(
            name, vertex_member, fragment_member, tuple(sampler for sampler, _ in draw.samplers), varyings, lengths
        )
        self._programs[varyings, fragment] = program
        return program


def _second_half_quads(draw: DrawCall) -> list[Quad]:
    """Return the quads of a 16-bit output's second half."""
    return [replace(quad, y=quad.y + draw.half) for quad in draw.quads]


Step = tuple[int, ...]
"""Downward step of each source from a pixel to the next."""


def with_columns(entry: Pass) -> Pass:
    """Return a pass in which vertically adjacent quads of one pixel are merged if their sources have equal steps.

    A GPU processes 16 pixels of a quad at once, and single pixels waste 15 of them.
    """
    if len(entry.quads) < 2 or any((quad.width, quad.height) != (1, 1) for quad in entry.quads):
        return entry
    ordered = sorted(entry.quads, key=lambda quad: (quad.x, quad.y))
    step = _step(ordered)
    if step is None:
        return entry
    columns: list[list[Quad]] = []
    for quad in ordered:
        if columns and _between(columns[-1][-1], quad) == step:
            columns[-1].append(quad)
        else:
            columns.append([quad])
    sources = tuple(replace(source, stride_y=float(down)) for source, down in zip(entry.sources, step))
    quads = tuple(replace(column[0], height=len(column)) for column in columns)
    return replace(entry, sources=sources, quads=quads)


def _step(ordered: Sequence[Quad]) -> Step | None:
    """Return the first valid step, if any."""
    return next((step for pair in zip(ordered, ordered[1:]) if (step := _between(*pair)) is not None), None)


def _between(upper: Quad, lower: Quad) -> Step | None:
    """Return the step of each source; None if the pixels are not adjacent, or a source moves sideways or up."""
    moves = [(end[0] - start[0], end[1] - start[1]) for start, end in zip(upper.origins, lower.origins)]
    if (lower.x, lower.y) != (upper.x, upper.y + 1) or any(sideways or down < 0 for sideways, down in moves):
        return None
    return tuple(down for _, down in moves)
