"""A dense layer with few inputs in one pass: products with 16-bit weights, sum, bias and activation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen, fold
from glsl_infer.lowering.bindings import DrawCall
from glsl_infer.ops.dense_products import BLOCK
from glsl_infer.ops.operator import Bounds, Operator, vector
from glsl_infer.program import Quad, Source, quantize
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FixedPoint, Value

PAIRS = BLOCK // 2

MOST_INPUTS = 128
"""Largest number of inputs of a dense layer in a single pass.

With more inputs, a texel takes longer than the passes saved, because a few texels leave most of a GPU idle.
"""


class DenseAtOnce(Operator):
    """From a vector (inputs,) to a vector (outputs,): ``activation((x @ kernel) * row_scale + bias)``.

    Attributes: ``activation``; ``scale`` of the stored result; ``bias_scale`` and ``row_unit``, the units of the
    constants (powers of two). Weights: ``kernel`` (inputs, outputs) in units of each row's scale, multiples of 1/256 in
    [-128, 128); ``row_scale`` (powers of two) and ``bias``, both (outputs,).
    """

    attrs = {"activation": "linear", "scale": None, "bias_scale": 1.0, "row_unit": 1.0}
    weights = ("kernel", "row_scale", "bias")

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (outputs,)."""
        length = vector(node, inputs[0])
        rows, outputs = node.weights["kernel"].shape
        if rows != length:
            raise ModelError.layer(node.name, f"a kernel of {(rows, outputs)} on {length} values", "check the weights")
        return (outputs,)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Multiply, scale each row, add its bias, and activate."""
        x = inputs[0]
        return node.activation(_row(node, x @ node.weights["kernel"].astype(x.dtype, copy=False)))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the result from bounds of the inputs."""
        low, high = inputs[0]
        kernel = node.weights["kernel"].astype(np.float64)
        extremes = np.stack([kernel * low[:, None], kernel * high[:, None]])
        return node.activation.range(
            *(_row(node, extreme.sum(axis=0)) for extreme in (extremes.min(axis=0), extremes.max(axis=0)))
        )

    def passes(self, node: Node, build: Builder) -> None:
        """Draw one quad, or one for each pair of rows if the activation has parameters for each row."""
        source = build.fixed_point(node.inputs[0])
        (outputs,) = build.shapes[node.name]
        blocks, width = _blocks(source.length), outputs + outputs % 2
        if width > MAX_TEXTURE_SIZE:
            advice = f"at most {MAX_TEXTURE_SIZE} outputs are supported"
            raise ModelError.layer(node.name, f"a dense layer of {outputs} outputs", advice)
        pairs = _encoded(node, blocks, width)
        kernel = build.constant_texture(node, width, len(pairs), pairs.tobytes())
        target = build.allocate_vector(node, outputs, node.attrs["scale"])
        macros = fold.pair_constants(node.activation, outputs)
        fragment = codegen.fragment(
            "dense_at_once.frag",
            activation=node.activation,
            constants=macros,
            includes=["fixed_point.glsl", "turns.glsl"],
            defines={
                "BLOCKS": blocks,
                "PAIRS": PAIRS,
                "FACTOR": source.scale,
                "ROW_SCALE": 256.0 * node.attrs["row_unit"],
                "BIAS_SCALE": node.attrs["bias_scale"],
                "INVERSE_SCALE": 1.0 / target.scale,
            },
        )
        draw_pairs(node, build, fragment, target, macros, {"source": source.texture, "kernel": kernel})

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return kernel, row scales and biases from their texture."""
        rows, outputs = shapes["kernel"]
        texels = np.frombuffer(members[0], np.uint8).reshape(-1, outputs + outputs % 2, 2, 2)
        integers = quantize.join_fixed16(texels).transpose(0, 2, 1).reshape(2 * len(texels), -1)[:, :outputs]
        return {
            "kernel": (integers[:rows] / 256.0).astype(np.float32),
            "row_scale": (integers[-2] * node.attrs["row_unit"]).astype(np.float32),
            "bias": (integers[-1] / 256.0 * node.attrs["bias_scale"]).astype(np.float32),
        }


def draw_pairs(
    node: Node,
    build: Builder,
    fragment: str,
    target: FixedPoint,
    macros: Mapping[str, NDArray[np.float32]],
    textures: Mapping[str, str],
    constants: Sequence[int] = (),
) -> None:
    """Draw one quad, or one for each pair of rows if the activation has parameters for each row.

    Args:
        node: the layer.
        build: the builder.
        fragment: text of the shader.
        target: the vector.
        macros: constants of the activation, a row for each pair.
        textures: names of the textures ``source`` and ``kernel``, by sampler. A row has one column of the kernel.
        constants: columns of the kernel that all rows read, each by a coordinate of its own.
    """
    texels = target.size[0]
    texels_per_draw = 1 if codegen.uniforms(macros, 0) else texels
    for first in range(0, texels, texels_per_draw):
        origins = ((0, 0), (2 * first, 0), *((column, 0) for column in constants))
        build.draw(
            DrawCall(
                node,
                fragment,
                target.texture,
                samplers=[*textures.items()],
                sources=[Source(0, 0.0, 0.0), Source(1, 2.0, 0.0), *[Source(1, 0.0, 0.0)] * len(constants)],
                quads=[Quad(first, 0, texels_per_draw, 1, origins)],
                uniforms={
                    "source_texel": build.texel(textures["source"]),
                    "kernel_texel": build.texel(textures["kernel"]),
                    **codegen.uniforms(macros, first),
                },
            )
        )


def _encoded(node: Node, blocks: int, width: int) -> NDArray[np.uint8]:
    """Return the texture of kernel, row scales and biases, uint8 (blocks * PAIRS + 1, width, 4)."""
    inputs, outputs = node.weights["kernel"].shape
    integers = np.zeros((blocks * BLOCK + 2, width), np.int64)
    integers[:inputs, :outputs] = np.rint(node.weights["kernel"].astype(np.float64) * 256.0)
    integers[-2, :outputs] = np.rint(node.weights["row_scale"].astype(np.float64) / node.attrs["row_unit"])
    integers[-1, :outputs] = np.rint(node.weights["bias"].astype(np.float64) / node.attrs["bias_scale"] * 256.0)
    return quantize.split_fixed16(integers.reshape(-1, 2, width).transpose(0, 2, 1))


def _blocks(inputs: int) -> int:
    """Return the number of blocks of inputs, including padding.

    Mesa 25 writes a loop over two blocks out, and the program then has one thread on VideoCore IV. It compiles a loop
    over three.
    """
    blocks = slices_of(inputs, BLOCK)
    return 3 if blocks == 2 else blocks


def _row(node: Node, sums: Array) -> Array:
    row_scale, bias = (node.weights[name].astype(sums.dtype) for name in ("row_scale", "bias"))
    return sums * row_scale + bias


OPERATOR = DenseAtOnce()
