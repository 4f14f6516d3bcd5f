"""Partial sums with weights in a texture: one pass for each block, with two quads for each output slice.

Weights have 16 bits here, as in ``weight_texture``, but a texel has both bytes of two output channels. A partial sum of
two channels needs as many fetches as four channels with 8-bit weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from glsl_infer.lowering import codegen, conv_draws, rolled, weight_bytes, weight_texture, weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES, Read
from glsl_infer.lowering.conv_columns import Columns
from glsl_infer.lowering.conv_texture import loop_end
from glsl_infer.lowering.taps import Tap
from glsl_infer.lowering.weight_texture import Constants, WeightTexture
from glsl_infer.program import Slice
from glsl_infer.program.layout import FixedMap, View

if TYPE_CHECKING:
    from glsl_infer.graph import Node
    from glsl_infer.lowering.builder import Builder

MOST_COLUMNS = weight_bytes.MOST_COLUMNS
"""Largest number of columns of a block: that of 8-bit weights, whose slices have as many fetches and additions."""

ROUNDING = 0.1
"""Largest estimated rounding error of a sum of high bytes in 32-bit floats, in 16-bit steps. The measured error of
stored values exceeded the half step of rounding by three times this limit, which is 1/700 of an 8-bit step."""


def untextured(columns: Columns, blocks: Sequence[range], textures: int, largest: float) -> str:
    """Return the reason why a layer's partial sums cannot have weights in textures; empty if they can.

    Args:
        columns: layout of the kernel's columns.
        blocks: slots of each partial sum.
        textures: number of textures that a draw reads, without the texture of weights.
        largest: largest magnitude of a weight, in units of the stored output.
    """
    widest = max(width(columns, slots) for slots in blocks)
    if 256.0 * largest * widest * 2.0**-24 > ROUNDING:
        return f"weights of up to {largest:.0f} times what is stored need more than a sum of high bytes keeps"
    if columns.slices > weight_texture.MOST_SLICES or widest > MOST_COLUMNS:
        return (
            f"{columns.slices} slices of {widest} columns, and at most {weight_texture.MOST_SLICES} of {MOST_COLUMNS} "
            "columns can have one"
        )
    return f"a draw reads {textures} textures already" if textures >= MAX_TEXTURES else ""


def width(columns: Columns, slots: range) -> int:
    """Return the number of columns of weights of a block."""
    return columns.starts[slots[-1] + 1] - columns.starts[slots[0]]


def draw(
    node: Node,
    build: Builder,
    *,
    columns: Columns,
    blocks: Sequence[range],
    packed: NDArray[np.float32],
    biases: Sequence[NDArray[np.float32]],
    reads: Callable[[range], Sequence[Sequence[Read]]],
    target: FixedMap,
) -> NDArray[np.float32]:
    """Append the passes of partial sums with weights in textures; return the weights as rounded in the textures.

    Args:
        node: the layer.
        build: the program.
        columns: layout of the kernel's columns.
        blocks: slots of each partial sum.
        packed: columns, (slices, columns, 4), in units of the stored output.
        biases: biases of each block, (slices, 4).
        reads: function from a block's slots to the reads of each output slice.
        target: the output.
    """
    stored = np.zeros_like(packed)
    for block, slots in enumerate(blocks):
        columns_of_block = slice(columns.starts[slots[0]], columns.starts[slots[-1] + 1])
        weights = weight_texture.pack(Constants(packed[:, columns_of_block], biases[block]))
        stored[:, columns_of_block] = weights.unpack().weights
        rows = in_pairs(weights.texels)
        texture = build.constant_texture(node, rows.shape[1], rows.shape[0], rows.tobytes(), str(block))
        units = build.weights(node, f".{block}.f32", weights.units.astype("<f4").tobytes())
        first_tile = 2 * block * columns.slices
        tiles = target.views[first_tile : first_tile + 2 * columns.slices]
        block_draws = _block_draws(node, build, columns, slots, reads(slots), texture)
        fragments: dict[int, str] = {}  # draws with the same list of taps share a shader
        for tile, tile_draw in zip(tiles, block_draws):
            taps_id, binding = id(tile_draw.taps), tile_draw.binding
            if taps_id not in fragments:
                fragments[taps_id] = _fragment(columns, slots, tile_draw)
            uniforms: dict[str, Sequence[float] | Slice] = {
                **binding.texels("source", steps=columns.dilations),
                "units": Slice(units, 0, 4),
            }
            build.draw_tile(node, fragments[taps_id], tile, (target.width, target.height), binding, uniforms)
    return stored


def _block_draws(
    node: Node, build: Builder, columns: Columns, slots: range, reads: Sequence[Sequence[Read]], texture: str
) -> list[conv_draws.Draw]:
    """Return the draws of a block, two for each output slice; ``texture`` has a row of weights for each of them."""
    draw_reads: list[Mapping[str, Sequence[Read]]] = [
        {"source": source, "weights": [Read(View(texture, 0, 2 * index + half), stride=(0.0, 0.0))]}
        for index, source in enumerate(reads)
        for half in range(2)
    ]
    own_coordinates = weights_plan.WINDOW_READS if columns.taps_per_slot > 1 else conv_draws.MOST_COORDINATES
    fetching = conv_draws.Fetching(common=False, in_order=True, own_coordinates=own_coordinates)
    return conv_draws.draws(node, build, columns, draw_reads, slots, fetching)


def _fragment(columns: Columns, slots: range, tile_draw: conv_draws.Draw) -> str:
    """Return the shader of a draw."""
    binding = tile_draw.binding
    lines = partial(_lines, wait="WAIT" if tile_draw.by_tiles else "")
    loop = tile_draw.loop if tile_draw.by_tiles else rolled.loop(columns, binding, slots)
    defines: dict[str, int | float | str] = {"ROW": binding.coordinate("weights")}
    if loop is not None:
        defines["HAS_LOOP"] = 1
    return codegen.fragment(
        "convolution_products_texture.frag",
        includes=["fixed_point.glsl"],
        lines={
            "declarations": tile_draw.declarations,
            "loop": loop.lines(lines, loop_end(width(columns, slots))) if loop else [],
            "coordinates": tile_draw.coordinates,
            "taps": [line for tap in tile_draw.taps for line in lines(tap)],
        },
        defines=defines,
    )


def _lines(tap: Tap, wait: str) -> list[str]:
    """Return the lines that fetch a texel, call ``begin`` with the sum of its lanes, and ``add`` for each lane."""
    lanes = [f"t.{product.lane}" for product in tap.products]
    return [*tap.lines("t", wait), f"begin({' + '.join(lanes)});", *(f"add({lane});" for lane in lanes)]


def in_pairs(texels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Convert ``WeightTexture.texels`` to rows of two channels, (2 * slices, width, 4): both bytes of each."""
    bytes_ = np.stack(np.split(texels, 2), axis=-1)  # (slices, width, channel, byte)
    slices, columns = bytes_.shape[:2]
    return np.ascontiguousarray(bytes_.reshape(slices, columns, 2, 4).transpose(0, 2, 1, 3)).reshape(-1, columns, 4)


def read(members: Sequence[bytes], columns: Columns, blocks: Sequence[range]) -> NDArray[np.float32]:
    """Decode the columns, (slices, columns, 4), from members of a bundle: texels and units of each block.

    Raises:
        ValueError: the members are not such textures.
    """
    packed = np.zeros((columns.slices, columns.count, 4), np.float32)
    for block, slots in enumerate(blocks):
        texels, units = members[2 * block : 2 * block + 2]
        count = width(columns, slots)
        rows = np.frombuffer(texels, np.uint8).reshape(
            columns.slices, 2, -1, 2, 2
        )  # slice, half, column, channel, byte
        if rows.shape[2] != weight_texture.width(count, factor=False):
            raise ValueError(f"a texture of weights is {rows.shape[2]} texels wide")
        lanes = rows.transpose(4, 0, 2, 1, 3).reshape(2 * columns.slices, -1, 4)
        weights = WeightTexture(count, lanes, np.frombuffer(units, "<f4").reshape(4))
        first = columns.starts[slots[0]]
        packed[:, first : first + count] = weights.unpack().weights
    return packed
