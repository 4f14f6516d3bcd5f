"""Conversion between outputs of layers and their RGBA8 texels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.program import quantize
from glsl_infer.program.layout import FeatureMap, FixedMap, FixedPoint, SixteenBitMap, Value, slices_of
from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph import Array

Texels = NDArray[np.uint8]


def shape_of(value: Value) -> tuple[int, ...]:
    """Return the shape of the array encoded by a value."""
    if isinstance(value, FixedPoint):
        return (value.columns, value.length) if value.columns else (value.length,)
    return value.height, value.width, value.channels


def put_rgb(pixels: NDArray[np.uint8], texels: Texels) -> None:
    """Copy pixels, uint8 (height, width, 3), into texels, uint8 (height, width, 4), whose alpha is 255 and remains 255.

    Contiguous pixels are copied as words of four bytes: three of the pixel, and one of the next that alpha replaces.
    This takes half the time of a copy by channels. A copy by pixels is slow, because NumPy's inner loop has three
    bytes.
    """
    if pixels.size and pixels.flags.c_contiguous and texels.flags.c_contiguous:
        words = np.ndarray(pixels.size // 3 - 1, "<u4", pixels, 0, (3,))
        np.bitwise_or(words, np.uint32(0xFF000000), out=texels.reshape(-1).view("<u4")[:-1])
        texels[-1, -1, :3] = pixels[-1, -1]
        return
    for channel in range(3):
        texels[..., channel] = pixels[..., channel]


def put_picture(pixels: NDArray[np.uint8], texels: Texels) -> None:
    """Copy an image of 1, 3 or 4 channels into texels: (grey, 0, 0, 255), (R, G, B, 255) or (R, G, B, A).

    Args:
        pixels: uint8 (height, width, channels).
        texels: uint8 (height, width, 4), with alpha 255 unless the image has alpha.
    """
    channels = pixels.shape[2]
    if channels == 3:
        put_rgb(pixels, texels)
        return
    texels[..., :channels] = pixels
    texels[..., channels:3] = 0


def pack_tiles(output: Array, value: FeatureMap | SixteenBitMap | FixedMap) -> Texels:
    """Encode a map (height, width, channels) as tiles (views, height, width, 4); padding lanes are 0."""
    views = len(value.views)
    if isinstance(value, FixedMap):
        texels = quantize.split_fixed16(quantize.encode_fixed16(output, value.scale))
    elif isinstance(value, SixteenBitMap):
        texels = np.zeros((value.height, value.width, 2 * views, 2), np.uint8)
        texels[..., : value.channels, :] = quantize.split_16_bits(
            quantize.encode_16_bits(output, value.scale_of, value.zero_of)
        )
    else:
        texels = np.zeros((value.height, value.width, 4 * views), np.uint8)
        texels[..., : value.channels] = quantize.encode_8_bits(output, value.scale_of, value.zero_of)
    tiles: Texels = texels.reshape(value.height, value.width, views, 4).transpose(2, 0, 1, 3)
    return tiles


def decode_tiles(tiles: Texels, value: FeatureMap | SixteenBitMap | FixedMap) -> NDArray[np.float64]:
    """Decode the tiles (views, height, width, 4) of a map to (height, width, channels)."""
    stacked = tiles.transpose(1, 2, 0, 3).reshape(value.height, value.width, -1)
    if isinstance(value, FixedMap):
        integers = quantize.join_fixed16(stacked.reshape(value.height, value.width, -1, 2))
        return np.asarray(integers * (value.scale / 256.0), np.float64)
    if isinstance(value, SixteenBitMap):
        integers = quantize.join_16_bits(stacked.reshape(value.height, value.width, -1, 2))[..., : value.channels]
        return np.asarray(value.scale_of * (integers / 256.0 - value.zero_of) / 255.0, np.float64)
    if value.channels <= LONG_LANES:
        return _decode_lanes(stacked, value)
    return np.asarray(value.scale_of * (stacked[..., : value.channels] - value.zero_of) / 255.0, np.float64)


LONG_LANES = 4
"""Largest number of channels that are decoded one after the other, as of images and masks. The last axis of all of them
would be the inner loop of NumPy, which costs a Raspberry Pi Zero half of a value's instructions."""


def _decode_lanes(stacked: Texels, value: FeatureMap) -> NDArray[np.float64]:
    """Decode bytes channel by channel, with the operations of ``decode_tiles`` that change a value."""
    decoded = np.empty((value.height, value.width, value.channels))
    for channel, (scale, zero) in enumerate(zip(value.scale_of, value.zero_of)):
        lane = decoded[..., channel]
        lane[...] = stacked[..., channel]
        if zero != 0.0:
            lane -= zero
        if scale != 1.0:
            lane *= scale
        lane /= 255.0
    return decoded


def pack_fixed(output: Array, value: FixedPoint) -> Texels:
    """Encode a vector or partial sums in 16-bit fixed point as a texture (rows, columns, 4)."""
    rows = np.asarray(output, np.float64).reshape(max(value.columns, 1), value.length)
    pairs = slices_of(value.length, 2)
    padded = np.zeros((rows.shape[0], 2 * pairs))
    padded[:, : value.length] = rows
    packed = quantize.split_fixed16(quantize.encode_fixed16(padded, value.scale)).reshape(rows.shape[0], pairs, 4)
    return packed if not value.columns else packed.transpose(1, 0, 2)


def decode_fixed(texture: Texels, value: FixedPoint) -> NDArray[np.float64]:
    """Decode a texture to a vector (length,) or partial sums (columns, length)."""
    rows = texture.transpose(1, 0, 2) if value.columns else texture
    integers = quantize.join_fixed16(rows.reshape(rows.shape[0], -1, 2))[:, : value.length]
    numbers = np.asarray(integers * (value.scale / 256.0), np.float64)
    return numbers if value.columns else numbers[0]


def in_steps(output: Array, value: Value) -> NDArray[np.float64]:
    """Convert an output to units of the stored integers, without rounding: n for 16 bits, bytes from 0 for 8 bits."""
    values = np.asarray(output, np.float64)
    if isinstance(value, FeatureMap):
        return values / value.scale_of * 255.0 + value.zero_of
    if isinstance(value, SixteenBitMap):
        return (values / value.scale_of * 255.0 + value.zero_of) * 256.0
    return values / (value.scale / 256.0)
