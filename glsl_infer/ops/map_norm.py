"""Normalisation of a map by means and deviations of its channels, or of groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.binary import draw
from glsl_infer.ops.norm_rules import SMALLEST_ROOT_ARGUMENT, require_lengths
from glsl_infer.ops.operator import Operator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class MapNorm(Operator):
    """``activation(gamma * (x - mean) / sqrt(deviation**2 + epsilon) + beta)`` of a map and two vectors.

    Attributes: ``gamma`` and ``beta``: one element, or one for each channel. ``epsilon``; ``activation``; the range
    ``scales`` and ``zeros``.
    """

    attrs = {
        "gamma": (1.0,),
        "beta": (0.0,),
        "epsilon": 1e-3,
        "activation": "linear",
        "scales": None,
        "zeros": None,
    }

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the map's shape."""
        shape = feature_map(node, inputs[0])
        if len(inputs) != 3 or any(tuple(statistic_shape) != shape[2:] for statistic_shape in inputs[1:]):
            raise ModelError.layer(
                node.name,
                f"a normalisation of shapes {list(inputs)}",
                "give a map, and a mean and a deviation a channel",
            )
        require_lengths(node, shape[2])
        return shape

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Normalise each pixel."""
        x, mean, deviation = inputs
        root = np.sqrt(np.maximum(np.square(deviation) + node.attrs["epsilon"], SMALLEST_ROOT_ARGUMENT))
        gamma, beta = (np.asarray(node.attrs[name], x.dtype) for name in ("gamma", "beta"))
        return node.activation((gamma * ((x - mean) / root) + beta).astype(x.dtype))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one pass for each slice, which reads one tile, and two texels of each vector."""
        epsilon, smallest = codegen.number(node.attrs["epsilon"]), codegen.number(SMALLEST_ROOT_ARGUMENT)
        expression = f"(a - b) * inversesqrt(max(c * c + {epsilon}, {smallest}))"
        draw(node, build, expression, gamma=node.attrs["gamma"], beta=node.attrs["beta"])


OPERATOR = MapNorm()
