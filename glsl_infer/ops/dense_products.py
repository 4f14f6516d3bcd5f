"""First part of a dense layer: products with 16-bit weights, summed over blocks of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import DrawCall
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program import Quad, Source, quantize
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value

BLOCK = 16
"""Inputs of a block: a fragment reads 8 texels of inputs and 16 of weights."""


class DenseProducts(Operator):
    """Partial sums (columns, outputs): column c has the products of inputs 16c to 16c + 15.

    Weight ``kernel`` (inputs, outputs) in units of each row's scale, multiples of 1/256 in [-128, 128). Attributes:
    ``columns`` (number of blocks, including padding), ``scale`` of the stored sums.
    """

    attrs = {"columns": 1, "scale": None}
    weights = ("kernel",)

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (columns, outputs)."""
        length = vector(node, inputs[0])
        rows, outputs = node.weights["kernel"].shape
        if rows != length or node.attrs["columns"] * BLOCK < length:
            raise ModelError.layer(node.name, f"a kernel of {(rows, outputs)} on {length} values", "check the weights")
        return node.attrs["columns"], outputs

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Multiply block by block."""
        kernel = _blocks(node.weights["kernel"].astype(inputs[0].dtype), node.attrs["columns"])
        x = _blocks(inputs[0][:, None], node.attrs["columns"])[:, :, 0]
        sums: Array = np.matmul(x[:, None, :], kernel)[:, 0]
        return sums

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the sums from bounds of the inputs."""
        low, high = inputs[0]
        kernel = node.weights["kernel"].astype(np.float64)
        columns = node.attrs["columns"]
        extremes = np.stack([kernel * low[:, None], kernel * high[:, None]])
        return _blocks(extremes.min(axis=0), columns).sum(axis=1), _blocks(extremes.max(axis=0), columns).sum(axis=1)

    def is_partial(self, node: Node) -> bool:
        """Return True: each column is the sum of one block."""
        return True

    def passes(self, node: Node, build: Builder) -> None:
        """Draw all partial sums in one quad."""
        source = build.fixed_point(node.inputs[0])
        columns, outputs = build.shapes[node.name]
        width, height = columns * BLOCK // 2, outputs + outputs % 2
        if max(width, height, source.size[0]) > MAX_TEXTURE_SIZE:
            raise ModelError.layer(
                node.name,
                f"a dense layer of {source.length} inputs and {outputs} outputs",
                f"at most {2 * MAX_TEXTURE_SIZE} inputs and {MAX_TEXTURE_SIZE} outputs are supported",
            )
        padded = np.zeros((height, 2 * width), np.int64)
        padded[:outputs, : source.length] = np.rint(node.weights["kernel"].T.astype(np.float64) * 256.0)
        texels = quantize.split_fixed16(padded).reshape(height, width, 4)
        kernel = build.constant_texture(node, width, height, texels.tobytes())
        target = build.allocate_sums(node, columns, outputs, node.attrs["scale"])
        fragment = codegen.fragment(
            "dense_products.frag",
            includes=["fixed_point.glsl", "turns.glsl"],
            defines={
                "PAIRS": BLOCK // 2,
                "INVERSE_SCALE": source.scale / target.scale,
            },
        )
        build.draw(
            DrawCall(
                node,
                fragment,
                target.texture,
                samplers=[("source", source.texture), ("kernel", kernel)],
                sources=[Source(0, BLOCK / 2, 0.0), Source(1, BLOCK / 2, 2.0)],
                quads=[Quad(0, 0, *target.size, ((0, 0), (0, 0)))],
                uniforms={"source_texel": build.texel(source.texture), "kernel_texel": build.texel(kernel)},
            )
        )

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the kernel from its texture."""
        rows, outputs = shapes["kernel"]
        width = node.attrs["columns"] * BLOCK // 2
        texels = np.frombuffer(members[0], np.uint8).reshape(outputs + outputs % 2, 2 * width, 2)
        integers = quantize.join_fixed16(texels)[:outputs, :rows]
        return {"kernel": (integers.T / 256.0).astype(np.float32)}


def _blocks(values: Array, columns: int) -> Array:
    """Reshape (inputs, n) to (columns, BLOCK, n), padded with zeros."""
    padded = np.zeros((columns * BLOCK, values.shape[1]), values.dtype)
    padded[: values.shape[0]] = values
    return padded.reshape(columns, BLOCK, values.shape[1])


OPERATOR = DenseProducts()
