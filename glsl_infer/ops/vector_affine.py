"""An affine function of a vector: batch norm and constants that no dense layer can include."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import DrawCall
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program import Quad, Source, quantize

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FixedPoint, Value

ROWS = 3
"""Rows of the texture: the bytes of each constant, the highest first."""

_MIDDLE = 1 << 23


class VectorAffine(Operator):
    """``activation(x * factor + offset)``, elementwise.

    Weights ``factor`` and ``offset``, (length,) each, are 24-bit multiples of the attributes ``factor_unit`` and
    ``offset_unit``. Attributes: ``activation``; ``scale`` of the stored vector.
    """

    attrs = {"activation": "linear", "factor_unit": 1.0, "offset_unit": 1.0, "scale": None}
    weights = ("factor", "offset")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        length = vector(node, inputs[0])
        if any(node.weights[name].shape != (length,) for name in self.weights):
            raise ModelError.layer(node.name, f"other weights than for {length} values", "check the weights")
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Multiply, add, and activate."""
        factor, offset = (node.weights[name].astype(inputs[0].dtype) for name in self.weights)
        return node.activation(inputs[0] * factor + offset)

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return the ordered results at the input's bounds."""
        factor, offset = (node.weights[name].astype(np.float64) for name in self.weights)
        bounds = [bound * factor + offset for bound in inputs[0]]
        return node.activation.range(np.minimum(*bounds), np.maximum(*bounds))

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the vector in one quad, or a quad for each texel if the activation has per-channel parameters."""
        source = build.fixed_point(node.inputs[0])
        target = build.allocate_vector(node, source.length, node.attrs["scale"])
        texels = texels_of(node)
        kernel = build.constant_texture(node, texels.shape[1], ROWS, texels.tobytes())
        constants = fold.pair_constants(node.activation, source.length)
        fragment = codegen.fragment(
            "vector_affine.frag",
            includes=["fixed_point.glsl"],
            activation=node.activation,
            constants=constants,
            defines={
                "ROWS": ROWS,
                "FACTOR_UNIT": node.attrs["factor_unit"] * source.scale,
                "OFFSET_UNIT": float(node.attrs["offset_unit"]),
                "INVERSE_SCALE": 1.0 / target.scale,
            },
        )
        draw_texels(node, build, fragment, (source, target), kernel, constants)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return factors and offsets from their texture."""
        (length,) = shapes["factor"]
        high, middle, low = np.frombuffer(members[0], np.uint8).reshape(ROWS, -1, 2, 2).astype(np.int64)
        integers = (high << 16) + (middle << 8) + low - _MIDDLE
        units = (node.attrs["factor_unit"], node.attrs["offset_unit"])
        return {
            name: (integers[:, row].reshape(-1)[:length] * unit).astype(np.float32)
            for row, (name, unit) in enumerate(zip(self.weights, units))
        }


def texels_of(node: Node) -> NDArray[np.uint8]:
    """Return uint8 (ROWS, pairs, 4): two factors, two offsets."""
    columns = []
    for name in ("factor", "offset"):
        integers = np.rint(node.weights[name].astype(np.float64) / node.attrs[f"{name}_unit"]).astype(np.int64)
        columns.append(np.pad(integers, (0, len(integers) % 2)).reshape(-1, 2) + _MIDDLE)
    encoded = np.concatenate(columns, axis=1)
    return np.stack([encoded >> 16, (encoded >> 8) & 255, encoded & 255]).astype(np.uint8)


def affine_node(name: str, source: str, factor: NDArray[np.float64], offset: NDArray[np.float64]) -> Node:
    """Return a node with factor and offset, (length,) each, rounded to 24 bits."""
    attrs: dict[str, float] = {}
    weights: dict[str, NDArray[np.float32]] = {}
    for key, values in (("factor", factor), ("offset", offset)):
        # 24 bits including the sign; the largest element must fit.
        unit = quantize.power_of_two_scale(float(np.abs(values).max()) * quantize.FIXED_LIMIT) * 2.0**-23
        integers = np.clip(np.rint(np.asarray(values, np.float64) / unit), 1 - _MIDDLE, _MIDDLE - 1)
        attrs[f"{key}_unit"] = unit
        weights[key] = (integers * unit).astype(np.float32)
    return Node(name, "vector_affine", (source,), attrs, weights)


def draw_texels(
    node: Node,
    build: Builder,
    fragment: str,
    vectors: tuple[FixedPoint, FixedPoint],
    kernel: str,
    constants: Mapping[str, NDArray[np.float32]],
) -> None:
    """Draw a vector from another vector and a texture of factors and offsets.

    Args:
        node: the layer.
        build: the program.
        fragment: the shader.
        vectors: the input and the output.
        kernel: name of the texture.
        constants: parameters of the activation. If they differ between texels, each texel has its own draw.
    """
    source, target = vectors
    width = 1 if codegen.uniforms(constants, 0) else target.size[0]
    for first in range(0, target.size[0], width):
        build.draw(
            DrawCall(
                node,
                fragment,
                target.texture,
                samplers=[("source", source.texture), ("kernel", kernel)],
                sources=[Source(0, 1.0, 1.0), Source(1, 1.0, 0.0)],
                quads=[Quad(first, 0, width, 1, ((first, 0), (first, 0)))],
                uniforms=codegen.uniforms(constants, first),
            )
        )


OPERATOR = VectorAffine()
