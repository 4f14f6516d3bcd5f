"""Products of the means of maps with the weights of a dense layer, summed over blocks of channels.

The first pass of a squeeze-and-excite block: without it, means take a job, and a dense layer another one. A mean over
the pixels of a slice is computed again for each two outputs, by processors that would be idle otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.lowering import codegen
from glsl_infer.lowering.bindings import Read
from glsl_infer.ops.global_average_pool import window_lines
from glsl_infer.ops.operator import Bounds, Operator, feature_map
from glsl_infer.program import quantize
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, View, slices_of

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import FeatureMap, FixedPoint, Value

BLOCK = {8: 4, 16: 2}
"""Channels of a texel, by the bits of a map."""

CONSTANT_ROWS = 6
"""Rows of the texture with the constants of a block's channels."""

ROWS = 4
"""Rows of the texture with the weights of two outputs."""


class MeanProducts(Operator):
    """Partial sums (columns, outputs) of ``mean(x) @ kernel``, for the channels of all input maps in order.

    Columns are the first row of parts of the first input, then its next rows, then those of the next inputs. In a row,
    each block of channels has all parts. Blocks of two channels are in the order of the tiles of 16-bit maps
    (``block_starts``).

    Weight ``kernel`` (channels of all inputs, outputs) in units of each row's scale, multiples of 1/256 in [-128, 128).
    Attributes: ``blocks``, the channels of a column for each input; ``parts``, (rows, columns) of equal parts into
    which each input is divided, one input after another; ``scale`` of the stored sums.
    """

    attrs = {"blocks": (), "parts": (), "scale": None}
    weights = ("kernel",)

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return (columns, outputs)."""
        maps = [feature_map(node, shape) for shape in inputs]
        rows, outputs = node.weights["kernel"].shape
        blocks, parts = node.attrs["blocks"], _parts(node)
        if rows != sum(channels for _, _, channels in maps) or not len(blocks) == len(parts) == len(maps):
            given = ", ".join(map(str, inputs))
            raise ModelError.layer(node.name, f"a kernel of {(rows, outputs)} on {given}", "check the weights")
        if any(height % down or width % across for (height, width, _), (down, across) in zip(maps, parts)):
            raise ModelError.layer(node.name, f"maps in parts of {parts}", "divide them into equal parts")
        counts = [len(block_starts(shape[2], block)) * y * x for shape, block, (y, x) in zip(maps, blocks, parts)]
        return sum(counts), outputs

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Average the parts of each map, and multiply block by block."""
        kernel = node.weights["kernel"].astype(inputs[0].dtype)
        first = 0
        sums: list[Array] = []
        for source, block, (down, across) in zip(inputs, node.attrs["blocks"], _parts(node)):
            height, width, channels = source.shape
            parts = source.reshape(down, height // down, across, width // across, channels)
            means = parts.sum(axis=(1, 3), dtype=source.dtype) / (height * width)
            starts, rows = block_starts(channels, block), kernel[first : first + channels]
            products = [means[..., start : start + block] @ rows[start : start + block] for start in starts]
            sums.append(np.stack(products, axis=1).reshape(-1, rows.shape[1]))  # (down, blocks, across, outputs)
            first += channels
        return np.concatenate(sums)

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of the sums from bounds of the inputs, which include the means."""
        kernel = node.weights["kernel"].astype(np.float64)
        lows, highs, first = list[NDArray[np.float64]](), list[NDArray[np.float64]](), 0
        for (low, high), block, (down, across) in zip(inputs, node.attrs["blocks"], _parts(node)):
            ends = np.stack([kernel[first : first + len(low)] * end[:, None] for end in (low, high)]) / (down * across)
            for bounds, extreme in ((lows, ends.min(axis=0)), (highs, ends.max(axis=0))):
                bounds.append(np.tile(np.repeat(_blocks(extreme, block).sum(axis=1), across, axis=0), (down, 1)))
            first += len(low)
        return np.concatenate(lows), np.concatenate(highs)

    def is_partial(self, node: Node) -> bool:
        """Return True: each column is the sum of one block."""
        return True

    def passes(self, node: Node, build: Builder) -> None:
        """Draw a rectangle for each row of parts of each block."""
        columns, outputs = build.shapes[node.name]
        if max(columns, CONSTANT_ROWS + ROWS * slices_of(outputs, 2)) > MAX_TEXTURE_SIZE:
            advice = "use fewer channels"
            raise ModelError.layer(node.name, f"{columns} partial sums of {outputs} outputs", advice)
        target = build.allocate_sums(node, columns, outputs, node.attrs["scale"])
        column = first = 0
        for index, (name, parts) in enumerate(zip(node.inputs, _parts(node))):
            source = build.feature_map(name)
            kernel = node.weights["kernel"][first : first + source.channels]
            _draw(node, build, source, target, kernel, parts, column, str(index) if index else "")
            column += len(_tiles(source)) * parts[0] * parts[1]
            first += source.channels

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the kernel from the textures of its inputs."""
        _, outputs = shapes["kernel"]
        kernels = []
        pairs = slices_of(outputs, 2)
        for member, block, source in zip(members, node.attrs["blocks"], inputs):
            channels = getattr(source, "channels", 0)
            texels = np.frombuffer(member, np.uint8).reshape(CONSTANT_ROWS + ROWS * pairs, -1, 2, 2)[CONSTANT_ROWS:]
            columns = texels.shape[1]
            integers = quantize.join_fixed16(texels).reshape(pairs * 2, 2, columns, 2)
            blocks = integers.transpose(2, 1, 3, 0).reshape(columns, 4, pairs * 2)[:, :block, :outputs]
            kernel = np.zeros((channels + block, outputs), np.int64)
            for values, start in zip(blocks, block_starts(channels, block)):
                kernel[start : start + block] = values
            kernels.append(kernel[:channels])
        return {"kernel": (np.concatenate(kernels) / 256.0).astype(np.float32)}


def block_starts(channels: int, block: int) -> list[int]:
    """Return the first channel of each block, in the order of the columns.

    Tiles of a 16-bit map have two channels, and those of one row of a texture have the first two channels of slices, or
    the last two. Adjacent columns share a rectangle of a draw if their tiles are in one row.
    """
    return [start for first in range(0, 4, block) for start in range(first, channels, 4)]


def _blocks(rows: Array, block: int) -> Array:
    """Reshape (channels, n) to (blocks, block, n), padded with zeros."""
    padded = np.zeros((len(rows) + block, rows.shape[1]), rows.dtype)
    padded[: len(rows)] = rows
    return np.stack([padded[start : start + block] for start in block_starts(len(rows), block)])


def _parts(node: Node) -> list[tuple[int, int]]:
    """Return the parts (rows, columns) of each input."""
    return [*zip(node.attrs["parts"][::2], node.attrs["parts"][1::2])]


def _draw(
    node: Node,
    build: Builder,
    source: FeatureMap,
    target: FixedPoint,
    kernel: NDArray[np.float32],
    parts: tuple[int, int],
    column: int,
    name: str,
) -> None:
    """Append the draws of one input.

    Args:
        node: the node.
        build: the builder.
        source: the input.
        target: the partial sums.
        kernel: the weights of its channels, (channels, outputs).
        parts: rows and columns of parts.
        column: its first column of partial sums.
        name: suffix of its texture of weights.
    """
    down, across = parts
    width, height = source.width // across, source.height // down
    texels, units = _texels(source, kernel, target.scale, down * across)
    weights = build.constant_texture(node, texels.shape[1], texels.shape[0], texels.tobytes(), name)
    turns, lines = window_lines((width, height), source.bits)
    tiles = _tiles(source, across)
    pitch = width if across > 1 else _pitch(tiles)
    for row in range(down):
        for first, count in _runs(tiles, pitch, across if across > 1 else len(tiles)):
            reads = [Read(tiles[first], (0, row * height), (float(pitch), 0.0))]
            stride = (float(across == 1), float(ROWS))
            constants = [Read(View(weights, first // across, CONSTANT_ROWS), stride=stride)]
            binding = build.bind(node, source=reads, kernel=constants)
            fragment = codegen.fragment(
                "mean_products.frag",
                includes=["fixed_point.glsl", "turns.glsl"],
                lines={"declarations": binding.declarations("source", "kernel"), **lines},
                defines={"WIDTH": turns[0], "HEIGHT": turns[1]},
            )
            uniforms = {**binding.texels("source", "kernel"), "units": units}
            sums = View(target.texture, column + row * len(tiles) + first, 0)
            build.draw_tile(node, fragment, sums, (count, target.size[1]), binding, uniforms)


def _tiles(source: FeatureMap, across: int = 1) -> list[View]:
    """Return the first row of parts of each block."""
    tiles = []
    for start in block_starts(source.channels, BLOCK[source.bits]):
        view = source.views[start // 4]
        y = view.y + (view.half if start % 4 else 0)
        tiles += [View(view.texture, view.x + part * (source.width // across), y) for part in range(across)]
    return tiles


def _pitch(tiles: Sequence[View]) -> int:
    """Return the distance of tiles side by side, 0 without any."""
    steps = [
        right.x - left.x for left, right in zip(tiles, tiles[1:]) if (left.texture, left.y) == (right.texture, right.y)
    ]
    return max(steps, default=0)


def _runs(tiles: Sequence[View], pitch: int, most: int) -> list[tuple[int, int]]:
    """Return (index of the first tile, number) of rows of at most ``most`` tiles with a distance of ``pitch``."""
    runs: list[tuple[int, int]] = []
    for index, tile in enumerate(tiles):
        first, count = runs[-1] if runs else (0, most)
        if count < most and tile == replace(tiles[first], x=tiles[first].x + count * pitch):
            runs[-1] = first, count + 1
        else:
            runs.append((index, 1))
    return runs


_MIDDLE = 1 << 23
"""Three bytes of a constant of 0."""

_MOST = _MIDDLE - 1
"""Largest integer of a constant."""


def _texels(
    source: FeatureMap, kernel: NDArray[np.float32], scale: float, parts: int
) -> tuple[NDArray[np.uint8], tuple[float, float]]:
    """Return the texture of constants and weights, and the units of the constants.

    A mean, in units of the stored sums, is the sum of bytes times a factor plus an offset. Both have 24 bits, so that
    the error is that of a float.

    Returns:
        uint8 (CONSTANT_ROWS + ROWS * pairs, blocks, 4), and the units of factors and offsets.
    """
    block, pixels = BLOCK[source.bits], source.height * source.width
    blocks, pairs = len(block_starts(source.channels, block)), slices_of(kernel.shape[1], 2)
    rows, units = list[NDArray[np.uint8]](), list[float]()
    for numbers in (
        source.scale_of / (255.0 * pixels * scale),
        -source.scale_of * source.zero_of / (255.0 * scale * parts),
    ):
        lanes = np.zeros((blocks, 4))
        lanes[:, :block] = _blocks(numbers[:, None], block)[:, :, 0]
        units.append(max(float(np.abs(lanes).max()), 1e-30) / _MOST)
        integers = np.rint(lanes / units[-1]).astype(np.int64) + _MIDDLE
        rows += [(integers >> shift & 255).astype(np.uint8) for shift in (16, 8, 0)]
    integers = np.zeros((blocks, 4, 2 * pairs), np.int64)
    integers[:, :block, : kernel.shape[1]] = np.rint(_blocks(kernel.astype(np.float64), block) * 256.0)
    # (outputs, two texels, blocks, two weights): a column has both texels of an output, and then those of the next.
    texels = integers.reshape(blocks, 2, 2, 2 * pairs).transpose(3, 1, 0, 2).reshape(ROWS * pairs, blocks, 2)
    weights = quantize.split_fixed16(texels).reshape(ROWS * pairs, blocks, 4)
    return np.concatenate([np.stack(rows), weights]), (units[0], units[1])


OPERATOR = MeanProducts()
