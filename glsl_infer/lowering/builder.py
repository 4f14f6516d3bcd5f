"""Collects the shaders and passes that operators append; see ``Operator.passes``."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, Node
from glsl_infer.lowering import codegen, fine, weights_plan
from glsl_infer.lowering.bindings import MAX_SOURCES, Binding, Read
from glsl_infer.lowering.merged_quads import merged
from glsl_infer.lowering.other_work import other_work
from glsl_infer.lowering.places import Places
from glsl_infer.lowering.typical import Texels, Typical
from glsl_infer.lowering.uniform_use import uses, without_uniforms
from glsl_infer.program import PRELUDE, CompiledNetwork, Pass, Quad, ShaderProgram, Slice, Source
from glsl_infer.program.layout import FeatureMap, Share, View, stored
from glsl_infer.program.program import UniformValue, WeightsChoice
from glsl_infer.program.templates import vertex_shader
from glsl_infer.support.resources import template

Uniforms = Mapping[str, "Sequence[float] | Slice"]

MOST_FINE = 0.5
"""Share of maps in 16 bits from which on a network is wanted exact, whatever it costs."""


class Builder(Places):
    """A program in the making: the places of its values, and the passes that draw them.

    Attributes:
        planning: whether only lifetimes of textures are wanted, so that the texts of shaders may be empty.
        weight_bits: one of ``texture_choice.WEIGHT_BITS``, for weights in textures.
        typical: what the layers' outputs are like.
        exact: layers whose weights are to be finer than 8 bits.
        offers: layers whose weights have 8 bits in a texture, as they are and as they would be finer.
        counts: whether only the cost is wanted, and convolutions append nothing.
        rounded: layers with the weights that shaders have, where these are rounded.
        spares: whether single maps have 16 bits, to be drawn for little, and not as many as can.
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
        *,
        draw_cost: float = weights_plan.DRAW,
        planning: bool = False,
        weight_bits: str = "auto",
        bits: Mapping[str, int] = MappingProxyType({}),
        exact: Collection[str] = (),
        counts: bool = False,
    ) -> None:
        super().__init__(graph, layout, gutters, shares, bits)
        self._members[PRELUDE] = template("prelude.glsl").encode()
        self._weights, self._weights_for, self._uniform_vectors = weights, weights_for, uniform_vectors
        self.draw_cost = draw_cost
        self.planning, self.typical, self.weight_bits = planning, typical, weight_bits
        self.spares = sum(known == 16 for known in bits.values()) <= MOST_FINE * len(bits)
        self.exact, self.offers = exact, dict[str, tuple[weights_plan.LayerWeights, weights_plan.LayerWeights]]()
        self.counts = counts
        self._work, self._counted = dict[str, float](), dict[str, int]()  # of convolutions, in order
        self._programs: dict[tuple[int, str], ShaderProgram] = {}
        self._program_names: set[str] = set()
        self._passes: list[Pass] = []
        self._ends: dict[str, int] = {}  # behind the last pass of the current layer, by target
        self._choices: dict[str, WeightsChoice] = {}
        self.rounded: dict[str, Node] = {}
        self._waiting: list[tuple[Any, ...]] = []

    def weights_choice(self, layer: weights_plan.LayerWeights) -> str:
        """Return ``baked``, ``uniform`` or ``texture`` for a layer's weights."""
        if self._layout == "planar":
            layer = replace(layer, untextured="each slice has a texture of its own")
        alone = self._weights_for.get(layer.name)
        choice = weights_plan.choose(layer, self._weights, alone, self._uniform_vectors, self.draw_cost)
        self._choices[layer.name] = choice
        return choice.mode

    def count(self, node: Node, layer: weights_plan.LayerWeights, mode: str) -> None:
        """Count what a convolution costs of which no draw is appended."""
        target, (read, *added) = self.feature_map(node.name), (self.feature_map(one).bits == 16 for one in node.inputs)
        more = weights_plan.fine_work(layer, reads=read, adds=any(added), stores=target.bits == 16)
        self._work[node.name] = weights_plan.work(layer, mode) + more
        draws = 1 if layer.in_pairs else self.times(node, target)[0]
        self._counted[node.name] = draws if mode == "texture" else layer.slices

    @property
    def whole(self) -> weights_plan.Cost:
        """What all layers so far cost."""
        return self._cost([entry.layer for entry in self._passes])

    def _cost(self, drawn: Sequence[str]) -> weights_plan.Cost:
        """Return the cost of what was counted, and of other draws, whose layers are given."""
        others = [layer for layer in drawn if layer not in self._counted]
        work = sum(self._work.values()) + other_work(self.graph, {*others}, self._bits)
        return weights_plan.Cost(work, len(others) + sum(self._counted.values()))

    def typical_input(self, node: Node) -> Texels:
        """Return the texels that a convolution reads of typical pictures."""
        source = self.feature_map(node.inputs[0])
        return self.typical.texels(node.inputs[0], source, node.attrs["padding"], alpha=self.shows_alpha(source))

    @property
    def choices(self) -> tuple[WeightsChoice, ...]:
        """Where the weights of the layers so far are."""
        return tuple(self._choices.values())

    def replace_weights(self, node: Node, weights: Mapping[str, NDArray[np.float32]]) -> None:
        """Say what the weights of ``node`` are in truth, where shaders have them rounded."""
        self.rounded[node.name] = replace(node, weights=weights)

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
            half=target.half,
            halves=binding.halves,
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
        half: int = 0,
        halves: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Append a pass, or add its quads to the last one where nothing else differs; two where it stores 16 bits.

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
            half: ``View.half`` of what is drawn.
            halves: that of what samplers read.
        """
        if self._waiting and self._waiting[0][0] is not node:
            self._append_waiting()
        read = {sampler: down for sampler, down in halves.items() if down}
        if read:
            fragment = fine.reading(fragment, frozenset(read))
            textures = dict(samplers)
            sizes = {name: self._textures[textures[name]].height for name in read}
            uniforms = {**uniforms, **{fine.down(name): [read[name] / sizes[name]] for name in read}}
        if not half:
            self._append(node, fragment, target, samplers, sources, quads, uniforms, part)
            return
        lower = [replace(quad, y=quad.y + half) for quad in quads]
        if fine.at_once(self.shapes[node.name]) and sources and len(sources) < MAX_SOURCES:
            text = fine.storing_either(node.name, fragment, len(sources))
            both = [
                replace(quad, origins=(*quad.origins, (0, number)))
                for pair in zip(quads, lower)
                for number, quad in enumerate(pair)
            ]
            unit = sources[0].unit
            uniforms = {**uniforms, fine.LOWER_FROM: [1.0 / self._textures[samplers[unit][1]].height]}
            self._append(node, text, target, samplers, [*sources, Source(unit, 0.0, 0.0)], both, uniforms, part)
            return
        texts = [fine.storing(node.name, fragment, lanes) for lanes in fine.HALVES]
        self._append(node, texts[0], target, samplers, sources, quads, uniforms, part)
        self._waiting.append((node, texts[1], target, samplers, sources, lower, uniforms, part))

    def times(self, node: Node, target: FeatureMap) -> tuple[int, int]:
        """Return how often a slice of a node's output is drawn, and each of its pixels in a draw."""
        if target.bits == 8:
            return 1, 1
        return (1, 2) if fine.at_once(self.shapes[node.name]) else (2, 1)

    def _append_waiting(self) -> None:
        """Append the draws of second tiles: behind all of the first ones, so that those of one kind become a pass."""
        waiting, self._waiting = self._waiting, []
        for entry in waiting:
            self._append(*entry)

    def _append(
        self,
        node: Node,
        fragment: str,
        target: str,
        samplers: Sequence[tuple[str, str]],
        sources: Sequence[Source],
        quads: Sequence[Quad],
        uniforms: Uniforms,
        part: str | None,
    ) -> None:
        textures = tuple(texture for _, texture in samplers)
        assert target not in textures, f"{node.name}: feedback"
        values: dict[str, UniformValue] = {
            name: value if isinstance(value, Slice) else tuple(float(number) for number in value)
            for name, value in uniforms.items()
            if uses(fragment, name)
        }
        fragment = without_uniforms(fragment, tuple(name for name in uniforms if name not in values))
        program = self._program(node, fragment, len(sources), samplers, values, part)
        at = self._after_target(node.name, target)
        last = self._passes[at - 1] if at else None
        clear = last is None or last.target != target
        entry = Pass(node.name, program.name, target, clear, textures, tuple(sources), tuple(quads), values)
        if last is not None and last.continued_by(entry):
            self._passes[at - 1] = replace(last, quads=last.quads + entry.quads)
        else:
            if at < len(self._passes):
                self._ends = {name: end + (end > at) for name, end in self._ends.items()}
            self._passes.insert(at, entry)
            self._ends[target] = at + 1

    def _after_target(self, layer: str, target: str) -> int:
        """Return where to insert a pass: behind the layer's last into ``target``, which is cleared only once."""
        if self._passes and self._passes[-1].layer != layer:
            self._ends = {}
        return self._ends.get(target, len(self._passes))

    def finish(self) -> CompiledNetwork:
        """Return everything that was appended."""
        self._append_waiting()
        return CompiledNetwork(
            replace(self.graph, nodes=tuple(self.rounded.get(node.name, node) for node in self.graph.nodes)),
            tuple(self._textures.values()),
            tuple(self._programs.values()),
            tuple(map(merged, self._passes)),
            {name: stored(value) for name, value in self.values.items()},
            self._choices,
            self._members,
            self._weight_members,
            findings=self.typical.findings,
            exact=tuple(sorted(self.exact)),
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
        if (varyings, fragment) in self._programs:
            return self._programs[varyings, fragment]
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
