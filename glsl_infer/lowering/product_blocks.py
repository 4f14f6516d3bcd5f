"""Blocks of a wide convolution's input slices: what each reads, its weights, and the shader of its partial sums."""

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
from glsl_infer.lowering.taps import picked, tap_lines
from glsl_infer.program.layout import FeatureMap, Ranged

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node
    from glsl_infer.lowering.builder import Builder


def block_kernels(kernel: NDArray[np.float32], groups: int, block: int) -> Iterator[tuple[NDArray[np.float32], slice]]:
    """Yield for every block of slots the kernel of its products, and which input channels that kernel is for.

    With one group it is that part of the kernel alone. With more it is the whole kernel, with 0 for other blocks.
    """
    columns = columns_of(kernel.shape, groups)
    for slots in blocks_of(columns, block):
        if groups == 1:
            read = slice(4 * slots.start, min(4 * slots.stop, kernel.shape[2]))
            yield kernel[:, :, read], read
            continue
        packed = columns.pack(kernel)
        part = slice(columns.starts[slots[0]], columns.starts[slots[-1] + 1])
        kept = np.zeros_like(packed)
        kept[:, part] = packed[:, part]
        yield columns.unpack(kept), slice(None)


def block_draws(node: Node, build: Builder, columns: Columns, slots: range, source: FeatureMap) -> list[Draw]:
    """Return what the draws of a block read, one for each output slice."""
    reads = [{"source": read} for read in block_reads(node, columns, slots, source)]
    return conv_draws.draws(node, build, columns, reads, slots=slots)


def block_reads(node: Node, columns: Columns, slots: range, source: FeatureMap) -> list[list[Read]]:
    """Return what a block of slots of each output slice reads; the same object where slices read alike."""
    stride_y, stride_x = node.attrs["strides"]
    top, _, left, _ = node.attrs["padding"]
    known: dict[tuple[int, ...], list[Read]] = {}
    for index in range(columns.slices):
        slices = columns.read_by(index)
        if slices not in known:
            stride = (float(stride_x), float(stride_y))
            known[slices] = [Read(source.views[slices[s]], (-left, -top), stride) for s in slots]
    return [known[columns.read_by(index)] for index in range(columns.slices)]


def blocks_of(columns: Columns, block: int) -> list[range]:
    """Return the slots of each block, of ``block`` slots but for the last."""
    return [range(first, min(first + block, columns.slots)) for first in range(0, columns.slots, block)]


def fold_texels(kernel: NDArray[np.float32], groups: int, source: Ranged) -> tuple[Array, Array]:
    """Return the kernel for texels, and what a texel's products lack: minus the zero point, (channels, filters)."""
    channel = input_channels(kernel.shape, groups)
    return kernel.astype(np.float64) * source.scale_of[channel], -source.zero_of[channel] / 255.0


def weight_vectors(
    packed: NDArray[np.float32], bias: NDArray[np.float32], columns: Columns, slots: range
) -> NDArray[np.float32]:
    """Return the vec4s of a block, (slices, halves, count, 4): two columns of two lanes each, the bias last."""
    part = packed[:, columns.starts[slots[0]] : columns.starts[slots[-1] + 1]]
    whole = np.concatenate([part, bias[:, None]], axis=1)
    whole = np.pad(whole, ((0, 0), (0, whole.shape[1] % 2), (0, 0)))
    halves = whole.reshape(columns.slices, -1, 2, 2).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(halves).reshape(columns.slices, 2, -1, 4)


def sum_shader(
    columns: Columns,
    slots: range,
    baked: NDArray[np.float32] | None,
    vectors: int,
    draw: Draw,
    start: NDArray[np.float32],
) -> str:
    """Return the shader of half a block: its weights from an array, or written out where they are given."""
    first = columns.starts[slots[0]]
    count = columns.starts[slots[-1] + 1] - first

    def weight(at: int, lanes: str) -> str | None:
        if baked is None:
            return f"weights[{(at - first) // 2}].{('xy', 'zw')[(at - first) % 2]}"
        return picked(baked[at - first], lanes)

    defines: dict[str, int | float | str] = {"BIAS": weight(first + count, "xy") or "vec2(0.0)"}
    defines["CUT_BIAS"] = "cut_bias" if baked is None else codegen.vec(start.tolist())
    if baked is None:
        defines["WEIGHT_COUNT"] = vectors
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
