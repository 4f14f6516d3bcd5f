"""Options of code generation: how a program stores maps and weights, and the cost of a draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from glsl_infer.errors import InputError
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS, WEIGHTS_MODES
from glsl_infer.program import WeightsChoice
from glsl_infer.program.layout import LAYOUTS

EXACTNESS = 2.0
"""Largest ratio of a single pass's cost to that of partial sums. It sums in floats and needs no 16-bit maps."""


@dataclass(frozen=True)
class Target:
    """The kind of program to compile a graph to.

    Attributes:
        weights: ``baked`` (constants, a program for each slice), ``uniform`` (an array, a program for each
            kind of layer), ``texture`` (one draw for all slices, if the layer supports it) or ``auto`` (for each layer
            the mode with the lowest cost; see ``weights_plan``).
        weights_for: weights modes of single layers by name, which override ``weights``.
        layout: ``atlas`` (all slices of a layer in one texture) or ``planar`` (a texture for each slice).
        memory: the method by which layers share textures, see ``compiler.memory``; ``auto`` is the one that needs the
            fewest bytes.
        uniform_vectors: the longest uniform array, in vec4; see ``weights_plan.UNIFORM_VECTORS``. With ``auto``, the
            limit is raised if the constants would be more text than a reader accepts.
        weight_bits: bits of weights in textures: ``auto`` (8 if that adds little noise, else 16) or ``16``.
        draw_cost: microseconds of a draw, for ``auto``; see ``weights_plan.DRAW``.
        exactness: see ``EXACTNESS``; 0 takes partial sums for every convolution that exceeds an array. For tests.
    """

    weights: str = "auto"
    weights_for: Mapping[str, str] = field(default_factory=dict)
    layout: str = "atlas"
    memory: str = "auto"
    uniform_vectors: int = UNIFORM_VECTORS
    weight_bits: str = "auto"
    draw_cost: float = weights_plan.DRAW
    exactness: float = EXACTNESS

    def require_known_modes(self) -> None:
        """Refuse unknown modes of weights, and an unknown layout.

        Raises:
            InputError: with the allowed values.
        """
        for mode in (self.weights, *self.weights_for.values()):
            if mode not in WEIGHTS_MODES:
                raise InputError(f"weights '{mode}'; choose one of {', '.join(WEIGHTS_MODES)}")
        if self.layout not in LAYOUTS:
            raise InputError(f"layout '{self.layout}'; choose one of {', '.join(LAYOUTS)}")

    def choice(self, layer: weights_plan.LayerWeights) -> WeightsChoice:
        """Return the storage of a layer's weights.

        Raises:
            InputError: ``weights_for`` has a mode that the layer does not support.
        """
        if self.layout == "planar":
            layer = replace(layer, untextured="each slice has a texture of its own")
        for_layer = self.weights_for.get(layer.name)
        return weights_plan.choose(layer, self.weights, for_layer, self.uniform_vectors, self.draw_cost)

    def with_longest_array(self) -> Target:
        """Return the target with the limit of uniform arrays that its weights mode implies."""
        return replace(self, uniform_vectors=weights_plan.longest_array(self.weights, self.uniform_vectors))
