"""Blocks of a wide convolution's input slices: reads, weights, and shaders of partial sums.

A slot is an index in the list of input slices that an output slice reads. A column is a row of weights for one lane of
one tap (``conv_columns``). A half is two of the four channels of an output slice. Every block has a partial sum for
each half, in 16-bit fixed point.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.kernels import input_channels
from glsl_infer.lowering import codegen, conv_draws
from glsl_infer.lowering.bindings import Read
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.conv_draws import Draw
from glsl_infer.lowering.taps import constant_weights, tap_lines
from glsl_infer.program.layout import FeatureMap, Ranged

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node
    from glsl_infer.lowering.builder import Builder


def block_kernels(kernel: NDArray[np.float32], groups: int, block: int) -> Iterator[tuple[NDArray[np.float32], slice]]:
    """Yield the kernel of each block, and the slice of input channels that it reads.

    With one group it is a part of the kernel. With several groups it is the kernel with zeros for other blocks.
    """
    columns = columns_of(kernel.shape, groups)
    for slots in slot_blocks(columns, block):
        if groups == 1:
            channels = slice(4 * slots.start, min(4 * slots.stop, kernel.shape[2]))
            yield kernel[:, :, channels], channels
            continue
        packed = columns.pack(kernel)
        block_columns = slice(columns.starts[slots[0]], columns.starts[slots[-1] + 1])
        masked = np.zeros_like(packed)
        masked[:, block_columns] = packed[:, block_columns]
        yield columns.unpack(masked), slice(None)


def block_draws(node: Node, build: Builder, columns: Columns, slots: range, source: FeatureMap) -> list[Draw]:
    """Return the draws of a block, one for each output slice."""
    reads = [{"source": read} for read in block_reads(node, columns, slots, source)]
    return conv_draws.draws(node, build, columns, reads, slots=slots)


def block_reads(node: Node, columns: Columns, slots: range, source: FeatureMap) -> list[list[Read]]:
    """Return the reads of a block for each output slice; slices with the same input slices share the list."""
    stride_y, stride_x = node.attrs["strides"]
    top, _, left, _ = node.attrs["padding"]
    reads_by_slices: dict[tuple[int, ...], list[Read]] = {}
    for index in range(columns.slices):
        slices = columns.read_by(index)
        if slices not in reads_by_slices:
            stride = (float(stride_x), float(stride_y))
            reads_by_slices[slices] = [Read(source.views[slices[s]], (-left, -top), stride) for s in slots]
    return [reads_by_slices[columns.read_by(index)] for index in range(columns.slices)]


def slot_blocks(columns: Columns, block: int) -> list[range]:
    """Return the slots of each block: ``block`` slots, except for the last one."""
    return [range(first, min(first + block, columns.slots)) for first in range(0, columns.slots, block)]


def scale_for_texels(kernel: NDArray[np.float32], groups: int, source: Ranged) -> tuple[Array, Array]:
    """Return the kernel that multiplies texels, and the addend of each texel, (channels, filters).

    A real value is scale * (texel - zero / 255), so the products are (kernel * scale) * (texel + addend).
    """
    channel = input_channels(kernel.shape, groups)
    return kernel.astype(np.float64) * source.scale_of[channel], -source.zero_of[channel] / 255.0


def weight_vectors(
    packed: NDArray[np.float32], bias: NDArray[np.float32], columns: Columns, slots: range
) -> NDArray[np.float32]:
    """Return the vec4s of a block, (slices, halves, count, 4).

    A vec4 has the weights of two columns for the two channels of a half. The bias follows the last column.
    """
    block_columns = packed[:, columns.starts[slots[0]] : columns.starts[slots[-1] + 1]]
    vectors = np.concatenate([block_columns, bias[:, None]], axis=1)
    vectors = np.pad(vectors, ((0, 0), (0, vectors.shape[1] % 2), (0, 0)))
    halves = vectors.reshape(columns.slices, -1, 2, 2).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(halves).reshape(columns.slices, 2, -1, 4)


def sum_shader(
    columns: Columns,
    slots: range,
    weights: NDArray[np.float32],
    draw: Draw,
    truncation_bias: NDArray[np.float32],
    *,
    is_baked: bool,
) -> str:
    """Return the shader of a half of a block.

    Args:
        columns: column layout of the layer.
        slots: slots of the block.
        weights: the half's weights and bias as of ``weight_vectors``, (count, 4).
        draw: a draw of the block.
        truncation_bias: bias correction of the half for GPUs that truncate additions, (2,).
        is_baked: write the weights and the correction into the shader; otherwise they are uniforms.
    """
    first, end = columns.starts[slots[0]], columns.starts[slots[-1] + 1]
    constants = weights.reshape(-1, 2).tolist() if is_baked else []

    def weight(column: int, lanes: str) -> str | None:
        if is_baked:
            return constant_weights(constants[column - first], lanes)
        return f"weights[{(column - first) // 2}].{('xy', 'zw')[(column - first) % 2]}"

    bias = weight(end, "xy") or "vec2(0.0)"
    defines: dict[str, int | float | str] = {"BIAS": bias}
    if is_baked:
        defines["CUT_BIAS"] = codegen.vec(truncation_bias.tolist())
    else:
        defines["CUT_BIAS"] = "cut_bias"
        defines["WEIGHT_COUNT"] = len(weights)
    return codegen.fragment(
        "convolution_products.frag",
        includes=["fixed_point.glsl", "cut_sums.glsl"],
        lines={
            "declarations": draw.declarations,
            "coordinates": draw.coordinates,
            "taps": tap_lines(draw.taps, weight, "xy"),
        },
        defines=defines,
    )
