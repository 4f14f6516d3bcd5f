"""Normalisation of a vector by its own statistics, in 16-bit fixed point: layer norm, root mean square, unit length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.graph.host_steps import NORMALIZE
from glsl_infer.lowering import codegen, fold
from glsl_infer.ops.norm_rules import SMALLEST_ROOT_ARGUMENT, require_kind, require_lengths
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.ops.vector_affine import ROWS, affine_node, draw_texels, texels_of
from glsl_infer.ops.vector_softmax import require_length_limit, whole_vector
from glsl_infer.program.layout import per_channel

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder


class VectorNorm(Operator):
    """``activation(gamma * (x - m) / sqrt(v + epsilon) + beta)``.

    Attributes: ``kind``: for ``layer``, m is the mean of all elements and v their variance; for ``rms``, m is 0 and v
    the mean square; for ``unit``, m is 0 and v the sum of squares. ``gamma`` and ``beta``: one element, or one for each
    of the vector. ``epsilon``; ``activation``; ``scale`` of the stored vector.
    """

    attrs = {
        "kind": "layer",
        "gamma": (1.0,),
        "beta": (0.0,),
        "epsilon": 1e-3,
        "activation": "linear",
        "scale": None,
    }

    def host_step(self, node: Node) -> str:
        """Return the host step for division by the Euclidean norm; empty if the node has other attributes."""
        normalize_only = {"kind": "unit", "gamma": (1.0,), "beta": (0.0,), "epsilon": 0.0, "activation": "linear"}
        return NORMALIZE if normalize_only.items() <= node.attrs.items() else ""

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        length = vector(node, inputs[0])
        require_kind(node)
        require_lengths(node, length)
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Normalise, scale, and activate."""
        x, kind = inputs[0], node.attrs["kind"]
        x = x - x.mean() if kind == "layer" else x
        variance = (np.sum if kind == "unit" else np.mean)(np.square(x))
        gamma, beta = (np.asarray(node.attrs[name], x.dtype) for name in ("gamma", "beta"))
        root = np.sqrt(np.maximum(variance + node.attrs["epsilon"], SMALLEST_ROOT_ARGUMENT))
        return node.activation((gamma * (x / root) + beta).astype(x.dtype))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds: the largest of n elements with a mean square of 1 is at most the root of n."""
        largest = 1.0 if node.attrs["kind"] == "unit" else float(np.sqrt(shape[0]))
        gamma, beta = (per_channel(node.attrs[name], shape[0]) for name in ("gamma", "beta"))
        return node.activation.range(beta - largest * np.abs(gamma), beta + largest * np.abs(gamma))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the vector in one quad, or a quad for each texel if the activation has per-channel parameters."""
        source = build.fixed_point(node.inputs[0])
        require_length_limit(node, source)
        length, kind = source.length, node.attrs["kind"]
        target = build.allocate_vector(node, length, node.attrs["scale"])
        gamma, beta = (per_channel(node.attrs[name], length) for name in ("gamma", "beta"))
        affine = affine_node(node.name, node.inputs[0], gamma, beta)
        texels = texels_of(affine)
        affine_texture = build.constant_texture(node, texels.shape[1], ROWS, texels.tobytes())
        constants = fold.pair_constants(node.activation, length)
        fragment = codegen.fragment(
            "vector_norm.frag",
            includes=["fixed_point.glsl", "turns.glsl", "late.glsl"],
            activation=node.activation,
            constants=constants,
            defines={
                **whole_vector(build, source),
                "ROWS": ROWS,
                "SHARE": 1.0 if kind == "unit" else 1.0 / length,
                "CENTRE": 1.0 / length,
                "EPSILON": node.attrs["epsilon"] / source.scale**2,
                "LEAST": SMALLEST_ROOT_ARGUMENT / source.scale**2,
                "FACTOR_UNIT": float(affine.attrs["factor_unit"]),
                "OFFSET_UNIT": float(affine.attrs["offset_unit"]),
                "INVERSE_SCALE": 1.0 / target.scale,
                **({"CENTRED": 1} if kind == "layer" else {}),
            },
        )
        draw_texels(node, build, fragment, (source, target), affine_texture, constants)


OPERATOR = VectorNorm()
