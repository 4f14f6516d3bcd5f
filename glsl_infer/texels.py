"""Between a layer's output as numbers and the RGBA8 texels that hold it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer import quantize
from glsl_infer.graph import Array
from glsl_infer.layout import FeatureMap, FixedPoint, slices_of


def pack_map(output: Array, value: FeatureMap) -> NDArray[np.uint8]:
    """Return the tiles (slices, height, width, 4) of a feature map of values in [0, 1]; pad lanes are 0."""
    slices = slices_of(value.channels)
    padded = np.zeros((value.height, value.width, 4 * slices), np.uint8)
    padded[..., : value.channels] = quantize.to_bytes(output)
    tiles: NDArray[np.uint8] = padded.reshape(value.height, value.width, slices, 4).transpose(2, 0, 1, 3)
    return tiles


def unpack_map(tiles: NDArray[np.uint8], value: FeatureMap) -> NDArray[np.float32]:
    """Return the feature map (height, width, channels) in [0, 1] of its tiles (slices, height, width, 4)."""
    stacked = tiles.transpose(1, 2, 0, 3).reshape(value.height, value.width, -1)
    output: NDArray[np.float32] = stacked[..., : value.channels].astype(np.float32) / np.float32(255)
    return output


def pack_fixed(output: Array, value: FixedPoint) -> NDArray[np.uint8]:
    """Return the texture (rows, columns, 4) of a vector or of partial sums in 16-bit fixed point."""
    rows = np.asarray(output, np.float64).reshape(max(value.columns, 1), value.length)
    pairs = slices_of(value.length, 2)
    padded = np.zeros((rows.shape[0], 2 * pairs))
    padded[:, : value.length] = rows
    packed = quantize.split_fixed16(quantize.fixed16(padded, value.scale)).reshape(rows.shape[0], pairs, 4)
    return packed if not value.columns else packed.transpose(1, 0, 2)


def unpack_fixed(texture: NDArray[np.uint8], value: FixedPoint) -> NDArray[np.float32]:
    """Return the vector (length,) or the partial sums (columns, length) that a texture holds."""
    rows = texture.transpose(1, 0, 2) if value.columns else texture
    integers = quantize.join_fixed16(rows.reshape(rows.shape[0], -1, 2))[:, : value.length]
    numbers = (integers * (value.scale / 256.0)).astype(np.float32)
    return numbers if value.columns else numbers[0]
