"""Last part of a dense layer: add the partial sums, scale rows, add biases and activate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import DrawCall
from glsl_infer.ops.operator import Bounds, Operator
from glsl_infer.program import Quad, Source, quantize

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FixedPoint, Value

MAX_COUNT = 16
"""Largest number of partial sums that a fragment adds in the passes before the last."""


class DenseSum(Operator):
    """From (columns, outputs) to fewer columns, or in the last pass to (outputs,).

    Attributes: ``count`` (columns to add), ``last``, ``activation`` (of the last pass), ``scale`` of the stored result,
    ``bias_scale`` and ``row_unit``, the units of the constants (powers of two). Weights of the last pass: ``row_scale``
    (powers of two) and ``bias``, both (outputs,).
    """

    attrs = {
        "count": 1,
        "last": True,
        "activation": "linear",
        "scale": None,
        "bias_scale": 1.0,
        "row_unit": 1.0,
    }
    weights = ("row_scale", "bias")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (columns / count, outputs), or (outputs,) for the last pass."""
        columns, outputs = inputs[0]
        if columns % node.attrs["count"] or (node.attrs["last"] and columns != node.attrs["count"]):
            raise ModelError.layer(
                node.name, f"{columns} partial sums by {node.attrs['count']}", "the columns must divide evenly"
            )
        return (outputs,) if node.attrs["last"] else (columns // node.attrs["count"], outputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Add columns; in the last pass scale each row, add its bias, and activate."""
        total = self._sum(node, inputs[0])
        return node.activation(total) if node.attrs["last"] else total

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the result from bounds of the partial sums. Only the activation can be non-monotonic."""
        low, high = (self._sum(node, bound) for bound in inputs[0])
        return node.activation.range(low, high) if node.attrs["last"] else (low, high)

    def is_partial(self, node: Node) -> bool:
        """Return whether more sums follow."""
        return not node.attrs["last"]

    def unit(self, node: Node) -> float:
        """Return the largest row scale."""
        return float(node.weights["row_scale"].max())

    def passes(self, node: Node, build: Builder) -> None:
        """Draw the sums: one quad for partial sums, or one quad for each pair of rows of the vector."""
        source = build.fixed_point(node.inputs[0])
        if node.attrs["last"]:
            self._last_pass(node, build, source)
            return
        columns, outputs = build.shapes[node.name]
        target = build.allocate_sums(node, columns, outputs, node.attrs["scale"])
        fragment = codegen.fragment(
            "dense_sum.frag",
            includes=["fixed_point.glsl", "turns.glsl"],
            defines={
                "COUNT": node.attrs["count"],
                "FACTOR": 1.0,
                "INVERSE_SCALE": source.scale / target.scale,
            },
        )
        build.draw(
            DrawCall(
                node,
                fragment,
                target.texture,
                samplers=[("source", source.texture)],
                sources=[Source(0, float(node.attrs["count"]), 1.0)],
                quads=[Quad(0, 0, *target.size, ((0, 0),))],
                uniforms={"source_texel": build.texel(source.texture)},
            )
        )

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return row scales and biases from their texture."""
        if not node.attrs["last"]:
            return {}
        (outputs,) = shapes["bias"]
        integers = quantize.join_fixed16(np.frombuffer(members[0], np.uint8).reshape(-1, 2, 2))[:outputs]
        row_scale = integers[:, 0] * node.attrs["row_unit"]
        bias = integers[:, 1] / 256.0 * node.attrs["bias_scale"]
        return {"row_scale": row_scale.astype(np.float32), "bias": bias.astype(np.float32)}

    def _sum(self, node: Node, sums: Array) -> Array:
        count = node.attrs["count"]
        total: Array = sums.reshape(sums.shape[0] // count, count, sums.shape[1]).sum(axis=1)
        if not node.attrs["last"]:
            return total
        row_scale, bias = (node.weights[name].astype(sums.dtype) for name in ("row_scale", "bias"))
        scaled: Array = total[0] * row_scale + bias
        return scaled

    def _last_pass(self, node: Node, build: Builder, source: FixedPoint) -> None:
        """Draw the vector: one quad for each pair of rows."""
        (outputs,) = build.shapes[node.name]
        constants = _encoded_constants(node, outputs)
        constants_texture = build.constant_texture(node, 1, len(constants), constants.tobytes())
        target = build.allocate_vector(node, outputs, node.attrs["scale"])
        macros = fold.pair_constants(node.activation, outputs)
        fragment = codegen.fragment(
            "dense_sum.frag",
            activation=node.activation,
            constants=macros,
            includes=["fixed_point.glsl", "turns.glsl"],
            defines={
                "COUNT": node.attrs["count"],
                "FACTOR": source.scale,
                "ROW_SCALE": 256.0 * node.attrs["row_unit"],
                "BIAS_SCALE": node.attrs["bias_scale"],
                "INVERSE_SCALE": 1.0 / target.scale,
            },
        )
        texels = target.size[0]
        texels_per_draw = 1 if codegen.uniforms(macros, 0) else texels
        for first in range(0, texels, texels_per_draw):
            build.draw(
                DrawCall(
                    node,
                    fragment,
                    target.texture,
                    samplers=[("source", source.texture), ("kernel", constants_texture)],
                    sources=[Source(0, 0.0, 0.0), Source(1, 0.0, 0.0)],
                    quads=[Quad(t, 0, 1, 1, ((0, t), (0, 2 * t))) for t in range(first, first + texels_per_draw)],
                    uniforms={
                        "source_texel": build.texel(source.texture),
                        "kernel_texel": build.texel(constants_texture),
                        **codegen.uniforms(macros, first),
                    },
                )
            )


def _encoded_constants(node: Node, outputs: int) -> NDArray[np.uint8]:
    """Return the texture of row scales and biases, uint8 (outputs rounded up to 2, 4)."""
    constants = np.zeros((outputs + outputs % 2, 2), np.int64)
    constants[:outputs, 0] = np.rint(node.weights["row_scale"].astype(np.float64) / node.attrs["row_unit"])
    constants[:outputs, 1] = np.rint(node.weights["bias"].astype(np.float64) / node.attrs["bias_scale"] * 256.0)
    return quantize.split_fixed16(constants)


OPERATOR = DenseSum()
