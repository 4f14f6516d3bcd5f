"""First part of a wide convolution: partial sums over blocks of input slices, in 16-bit fixed point."""

from __future__ import annotations

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
    blocks_of,
    scale_for_texels,
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
            len(blocks_of(columns, node.attrs["block"])) * 4 * columns.slices,
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
        source = build.feature_map(node.inputs[0])
        kernel = node.weights["kernel"]
        columns = columns_of(kernel.shape, node.attrs["groups"], node.attrs["dilations"])
        blocks = blocks_of(columns, node.attrs["block"])
        target = build.allocate_fixed_map(node, len(blocks), node.attrs["scale"])
        folded, offset = scale_for_texels(kernel, node.attrs["groups"], source)
        packed = columns.pack((folded / target.scale).astype(np.float32))
        counts = [products_texture.width(columns, slots) for slots in blocks]
        vectors = max(count // 2 + 1 for count in counts)  # pairs of columns, and the bias
        textures = max(
            len({source.views[read].texture for read in columns.read_by(index)[slots[0] : slots[-1] + 1]})
            for index in range(columns.slices)
            for slots in blocks
        )
        mode = build.weights_choice(
            weights_plan.LayerWeights(
                node.name,
                2 * len(blocks) * columns.slices,
                target.height * target.width,
                vectors,
                vectors,
                products_texture.untextured(columns, blocks, textures, float(np.abs(packed).max())),
                bits=8,
                texels=max(counts),
                textures=len(blocks),
            )
        )
        if build.planning:
            targets = [view.texture for view in target.views]
            if mode == "texture":  # the tiles of a block in a texture are drawn at once
                size = 2 * columns.slices
                blocks_of_tiles = [targets[first : first + size] for first in range(0, len(targets), size)]
                targets = [name for tiles in blocks_of_tiles for name in dict.fromkeys(tiles)]
            build.plan_draws(node, targets)
            return
        # The bias of a block cancels the zero points of its inputs.
        biases = [
            fold.slices((block_kernel * offset[read]).sum(axis=(0, 1, 2)) / target.scale)
            for block_kernel, read in block_kernels(
                folded.astype(np.float32), node.attrs["groups"], node.attrs["block"]
            )
        ]
        if mode == "texture":
            stored = products_texture.draw(
                node,
                build,
                columns=columns,
                blocks=blocks,
                packed=packed,
                biases=biases,
                reads=lambda slots: block_reads(node, columns, slots, source),
                target=target,
            )
            rounded = columns.unpack(stored).astype(np.float64) * target.scale
            unit = scale_for_texels(np.ones_like(kernel), node.attrs["groups"], source)[0]
            build.replace_weights(node, {"kernel": (rounded / unit).astype(np.float32)})
            return

        arrays = [weight_vectors(packed, biases[b], columns, slots) for b, slots in enumerate(blocks)]
        starts = np.cumsum([0, *(array.size for array in arrays)])
        member = build.weights(node, ".f32", b"".join(array.astype("<f4").tobytes() for array in arrays))
        truncated_starts = [
            self._truncated_starts(node, build, columns, packed, biases[b], b, slots) for b, slots in enumerate(blocks)
        ]
        draws_by_block = [block_draws(node, build, columns, slots, source) for slots in blocks]
        # A shader with an array serves both halves, and all output slices with equal reads.
        texts: dict[int, str] = {}
        for index in range(columns.slices):
            for b, slots in enumerate(blocks):
                draw = draws_by_block[b][index]
                for half in range(2):
                    array = arrays[b][index, half]
                    baked = array.reshape(-1, 2) if mode == "baked" else None
                    start = truncated_starts[b][index, 2 * half : 2 * half + 2]
                    fragment = texts.get(id(draw.taps), "") if baked is None else ""
                    fragment = fragment or sum_shader(columns, slots, baked, len(array), draw, start)
                    texts[id(draw.taps)] = fragment
                    view = target.views[2 * (b * columns.slices + index) + half]
                    uniforms: dict[str, Sequence[float] | Slice] = {
                        **draw.binding.texels("source", steps=columns.dilations)
                    }
                    if baked is None:
                        first = int(starts[b]) + (2 * index + half) * array.size
                        uniforms["weights"] = Slice(member, first, array.size)
                        uniforms["cut_bias"] = start.tolist()
                    build.draw_tile(
                        node,
                        fragment,
                        view,
                        (target.width, target.height),
                        draw.binding,
                        uniforms,
                        part=f"{index}.{b}.{half}" if mode == "baked" else None,
                    )

    def _truncated_starts(
        self,
        node: Node,
        build: Builder,
        columns: Columns,
        packed: NDArray[np.float32],
        biases: NDArray[np.float32],
        block: int,
        slots: range,
    ) -> NDArray[np.float32]:
        """Return initial values of a block's sums on devices that truncate, (slices, 4), from ``lowering.truncation``.

        Args:
            node: the layer.
            build: the program.
            columns: layout of the kernel's columns.
            packed: columns of all blocks.
            biases: of the block, (slices, 4).
            block: index of the block.
            slots: slots of the block.
        """
        source = build.feature_map(node.inputs[0])
        block_columns = slice(columns.starts[slots[0]], columns.starts[slots[-1] + 1])

        def find() -> truncation.Starts:
            constants = np.zeros_like(packed)
            constants[:, block_columns] = packed[:, block_columns]
            texels = build.calibration_maps.texels(
                node.inputs[0], source, node.attrs["padding"], alpha=build.shows_alpha(source)
            )
            sums = truncation.Sums(columns, constants, biases, saturation=(-128.0, 128.0))
            return truncation.starts(sums, texels, node.attrs["strides"])

        key = f"{node.name} {block} {slots}"
        return truncation.Starts.cached(build.calibration_maps, key, columns.slices, find).truncated

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the kernel from the packed blocks."""
        (source,) = inputs
        if not isinstance(source, (FeatureMap, SixteenBitMap)):
            raise ValueError(f"layer '{node.name}' reads no feature map of 8 bits")
        columns = columns_of(shapes["kernel"], node.attrs["groups"])
        factor = scale_for_texels(np.ones(shapes["kernel"], np.float32), node.attrs["groups"], source)[0]
        if len(members) > 1:
            packed = products_texture.read(members, columns, blocks_of(columns, node.attrs["block"]))
            kernel = columns.unpack(packed).astype(np.float64) * node.attrs["scale"] / factor
            return {"kernel": kernel.astype(np.float32)}
        floats = np.frombuffer(members[0], "<f4")
        packed = np.zeros((columns.slices, columns.count, 4), np.float32)
        position = 0
        for slots in blocks_of(columns, node.attrs["block"]):
            first, last = columns.starts[slots[0]], columns.starts[slots[-1] + 1]
            count = last - first + 1
            size = columns.slices * 4 * (count + count % 2)
            halves = floats[position : position + size].reshape(columns.slices, 2, -1, 2)[:, :, : count - 1]
            packed[:, first:last] = halves.transpose(0, 2, 1, 3).reshape(columns.slices, count - 1, 4)
            position += size
        kernel = columns.unpack(packed).astype(np.float64) * node.attrs["scale"] / factor
        return {"kernel": kernel.astype(np.float32)}


OPERATOR = ConvolutionProducts()
