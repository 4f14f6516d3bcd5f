"""First part of a wide convolution: partial sums over blocks of input slices, in 16-bit fixed point."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.kernels import input_channels
from glsl_infer.lowering import fold, products_texture, truncation, weights_plan
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.product_blocks import (
    block_draws,
    block_kernels,
    block_reads,
    scale_for_texels,
    slot_blocks,
    sum_shader,
    weight_vectors,
)
from glsl_infer.ops.convolution_window import convolve, output_size
from glsl_infer.ops.operator import Bounds, Operator
from glsl_infer.ops.traits import AxisWindow, window_reads
from glsl_infer.ops.zero_padding import pad
from glsl_infer.program import Slice
from glsl_infer.program.layout import FeatureMap, SixteenBitMap, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value


class ConvolutionProducts(Operator):
    """Partial sums (height, width, blocks * filters rounded up to 4), block after block.

    Block b has the products of the slots ``block * b`` to ``block * b + block - 1`` of each output slice, as
    ``conv_columns`` defines them. Weight ``kernel`` as in ``conv2d``, divided by each filter's unit. Attributes:
    ``strides``, ``padding``, ``groups``, ``dilations``, ``block``, and ``scale`` of the stored sums.
    """

    attrs = {
        "strides": (1, 1),
        "padding": (0, 0, 0, 0),
        "groups": 1,
        "dilations": (1, 1),
        "block": 8,
        "scale": None,
    }
    implied = ("dilations",)
    weights = ("kernel",)
    margin = 2.0  # the error of float32 sums of 240 products is 2**-22 of the bound, small compared with a step

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (height, width, blocks * filters rounded up to 4)."""
        columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
        return (
            *output_size(node, inputs[0]),
            len(slot_blocks(columns, node.attrs["block"])) * 4 * columns.slices,
        )

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the input window of an output pixel."""
        height, width = node.weights["kernel"].shape[:2]
        down, across = node.attrs["dilations"]
        return window_reads(node, (height - 1) * down + 1, (width - 1) * across + 1)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Convolve once for each block, with the weights of other channels set to 0."""
        x = pad(inputs[0], node.attrs["padding"])
        strides, groups, dilations = (node.attrs[key] for key in ("strides", "groups", "dilations"))
        out: Array = np.zeros(self.shape(node, [inputs[0].shape]), x.dtype)
        filters = node.weights["kernel"].shape[3]
        lanes = 4 * slices_of(filters)
        for first, (kernel, read) in zip(
            range(0, out.shape[2], lanes), block_kernels(node.weights["kernel"], groups, node.attrs["block"])
        ):
            sums = convolve(x[:, :, read], kernel.astype(x.dtype), strides, groups, dilations)
            out[:, :, first : first + filters] = sums
        return out

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the sums if each tap reads the lowest value, the highest value, or padding."""
        low, high = np.minimum(inputs[0][0], 0.0), np.maximum(inputs[0][1], 0.0)
        lows, highs = [], []
        for kernel, read in block_kernels(node.weights["kernel"], node.attrs["groups"], node.attrs["block"]):
            channel = input_channels(kernel.shape, node.attrs["groups"])
            extremes = np.stack([kernel * low[read][channel], kernel * high[read][channel]])
            padding = (0, -kernel.shape[3] % 4)
            lows.append(np.pad(extremes.min(axis=0).sum(axis=(0, 1, 2)), padding))
            highs.append(np.pad(extremes.max(axis=0).sum(axis=(0, 1, 2)), padding))
        return np.concatenate(lows), np.concatenate(highs)

    def padding(self, node: Node) -> int:
        """Return the largest of the four paddings."""
        return int(max(node.attrs["padding"]))

    def is_partial(self, node: Node) -> bool:
        """Return True: each channel is the sum of one block."""
        return True

    def passes(self, node: Node, build: Builder) -> None:
        """Draw lanes 0 and 1, then lanes 2 and 3 of each block.

        Each half is a pass, unless weights are in a texture, where one pass draws a block.
        """
        layer = _Layer(node, build)
        mode = build.weights_choice(layer.weights)
        if build.planning:
            layer.plan(mode)
        elif mode == "texture":
            layer.draw_with_textures()
        else:
            layer.draw_with_arrays(is_baked=mode == "baked")

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the kernel from the packed blocks."""
        (source,) = inputs
        if not isinstance(source, (FeatureMap, SixteenBitMap)):
            raise ValueError(f"layer '{node.name}' reads no feature map of 8 bits")
        columns = columns_of(shapes["kernel"], node.attrs["groups"])
        blocks = slot_blocks(columns, node.attrs["block"])
        if len(members) > 1:
            packed = products_texture.read(members, columns, blocks)
        else:
            packed = _packed_in_arrays(members[0], columns, blocks)
        factor = scale_for_texels(np.ones(shapes["kernel"], np.float32), node.attrs["groups"], source)[0]
        kernel = columns.unpack(packed).astype(np.float64) * node.attrs["scale"] / factor
        return {"kernel": kernel.astype(np.float32)}


class _Layer:
    """The partial sums of a layer, with allocated output.

    Attributes:
        columns: layout of the kernel's columns.
        blocks: slots of each block.
        target: the output.
        packed: the columns in units of the stored output, (slices, columns, 4).
        weights: properties of the layer that the choice of the weights' storage depends on.
    """

    def __init__(self, node: Node, build: Builder) -> None:
        self._node, self._build = node, build
        self._kernel, self._groups = node.weights["kernel"], node.attrs["groups"]
        self._source = build.feature_map(node.inputs[0])
        self.columns = columns_of(self._kernel.shape, self._groups, node.attrs["dilations"])
        self.blocks = slot_blocks(self.columns, node.attrs["block"])
        self.target = build.allocate_fixed_map(node, len(self.blocks), node.attrs["scale"])
        folded, self._offset = scale_for_texels(self._kernel, self._groups, self._source)
        self._folded = folded.astype(np.float32)
        self.packed = self.columns.pack((folded / self.target.scale).astype(np.float32))

        counts = [products_texture.width(self.columns, slots) for slots in self.blocks]
        vectors = max(count // 2 + 1 for count in counts)  # pairs of columns, and the bias
        largest = float(np.abs(self.packed).max())
        self.weights = weights_plan.LayerWeights(
            node.name,
            2 * len(self.blocks) * self.columns.slices,
            self.target.height * self.target.width,
            vectors,
            vectors,
            products_texture.untextured(self.columns, self.blocks, self._most_textures(), largest),
            bits=8,
            texels=max(counts),
            textures=len(self.blocks),
        )

    def plan(self, mode: str) -> None:
        """Add the draws to a plan."""
        targets = [view.texture for view in self.target.views]
        if mode == "texture":  # the tiles of a block in a texture are drawn at once
            size = 2 * self.columns.slices
            blocks_of_tiles = [targets[first : first + size] for first in range(0, len(targets), size)]
            targets = [name for tiles in blocks_of_tiles for name in dict.fromkeys(tiles)]
        self._build.plan_draws(self._node, targets)

    def draw_with_textures(self) -> None:
        """Draw a pass for each block, with its weights in a texture; record the weights as rounded in the textures."""
        stored = products_texture.draw(
            self._node,
            self._build,
            columns=self.columns,
            blocks=self.blocks,
            packed=self.packed,
            biases=self._biases(),
            reads=lambda slots: block_reads(self._node, self.columns, slots, self._source),
            target=self.target,
        )
        rounded = self.columns.unpack(stored).astype(np.float64) * self.target.scale
        unit = scale_for_texels(np.ones_like(self._kernel), self._groups, self._source)[0]
        self._build.replace_weights(self._node, {"kernel": (rounded / unit).astype(np.float32)})

    def draw_with_arrays(self, *, is_baked: bool) -> None:
        """Draw two passes for each output slice and block, with weights as constants or in uniform arrays."""
        build, biases = self._build, self._biases()
        arrays = [weight_vectors(self.packed, biases[b], self.columns, slots) for b, slots in enumerate(self.blocks)]
        first_floats = np.cumsum([0, *(array.size for array in arrays)])  # of each block in the member
        member = build.weights(self._node, ".f32", b"".join(array.astype("<f4").tobytes() for array in arrays))
        truncated_starts = [self._truncated_starts(b, biases[b]) for b in range(len(self.blocks))]
        draws_by_block = [block_draws(self._node, build, self.columns, slots, self._source) for slots in self.blocks]
        fragments: dict[int, str] = {}  # a shader with an array serves both halves, and all slices with equal reads
        for index, (b, slots), half in itertools.product(range(self.columns.slices), enumerate(self.blocks), range(2)):
            draw, vectors = draws_by_block[b][index], arrays[b][index, half]
            start = truncated_starts[b][index, 2 * half : 2 * half + 2]
            taps_id = id(draw.taps)
            if is_baked or taps_id not in fragments:
                fragments[taps_id] = sum_shader(self.columns, slots, vectors, draw, start, is_baked=is_baked)
            uniforms: dict[str, Sequence[float] | Slice] = {
                **draw.binding.texels("source", steps=self.columns.dilations)
            }
            if not is_baked:
                first_float = int(first_floats[b]) + (2 * index + half) * vectors.size
                uniforms["weights"] = Slice(member, first_float, vectors.size)
                uniforms["cut_bias"] = start.tolist()
            build.draw_tile(
                self._node,
                fragments[taps_id],
                self.target.views[2 * (b * self.columns.slices + index) + half],
                (self.target.width, self.target.height),
                draw.binding,
                uniforms,
                part=f"{index}.{b}.{half}" if is_baked else None,
            )

    def _most_textures(self) -> int:
        """Return the largest number of input textures that a draw reads."""
        return max(
            len({self._source.views[read].texture for read in self.columns.read_by(index)[slots[0] : slots[-1] + 1]})
            for index in range(self.columns.slices)
            for slots in self.blocks
        )

    def _biases(self) -> list[NDArray[np.float32]]:
        """Return the bias of each block, (slices, 4). It cancels the zero points of the block's inputs."""
        kernels = block_kernels(self._folded, self._groups, self._node.attrs["block"])
        return [
            fold.slices((kernel * self._offset[channels]).sum(axis=(0, 1, 2)) / self.target.scale)
            for kernel, channels in kernels
        ]

    def _truncated_starts(self, block: int, biases: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return initial values of a block's sums on devices that truncate, (slices, 4), from ``lowering.truncation``.

        Args:
            block: index of the block.
            biases: of the block, (slices, 4).
        """
        node, build, slots = self._node, self._build, self.blocks[block]
        block_columns = slice(self.columns.starts[slots[0]], self.columns.starts[slots[-1] + 1])

        def compute_starts() -> truncation.Starts:
            constants = np.zeros_like(self.packed)
            constants[:, block_columns] = self.packed[:, block_columns]
            texels = build.calibration_maps.texels(
                node.inputs[0], self._source, node.attrs["padding"], alpha=build.shows_alpha(self._source)
            )
            sums = truncation.Sums(self.columns, constants, biases, saturation=(-128.0, 128.0))
            return truncation.starts(sums, texels, node.attrs["strides"])

        key = f"{node.name} {block} {slots}"
        return truncation.Starts.cached(build.calibration_maps, key, self.columns.slices, compute_starts).truncated


def _packed_in_arrays(member: bytes, columns: Columns, blocks: Sequence[range]) -> NDArray[np.float32]:
    """Decode the columns, (slices, columns, 4), from a member of vec4s; the inverse of ``weight_vectors``."""
    floats = np.frombuffer(member, "<f4")
    packed = np.zeros((columns.slices, columns.count, 4), np.float32)
    position = 0
    for slots in blocks:
        count = products_texture.width(columns, slots)
        vectors_per_half = count // 2 + 1  # pairs of columns, and the bias
        size = columns.slices * 2 * vectors_per_half * 4
        halves = floats[position : position + size].reshape(columns.slices, 2, -1, 2)[:, :, :count]
        first = columns.starts[slots[0]]
        packed[:, first : first + count] = halves.transpose(0, 2, 1, 3).reshape(columns.slices, count, 4)
        position += size
    return packed


OPERATOR = ConvolutionProducts()
