"""Conversion between values and texels, and host steps, in plain Python, from docs/reference/bundle-format.md alone.

An array is a pair of its shape and its values in row-major order. A value is the JSON object of the manifest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Value = dict[str, Any]
Array = tuple[tuple[int, ...], list[float]]
Tile = tuple[str, int, int, int, int, bytes]
"""Texture, x, y, width, height, texels."""


def of(values: Sequence[float], channel: int) -> float:
    """Return an entry of ``scales`` or ``zeros``, which have one for all channels, or one for each."""
    return values[0] if len(values) == 1 else values[channel]


def clip(value: float, low: int, high: int) -> int:
    """Round down, and clip."""
    return int(min(max(math.floor(value), low), high))


def decode(texels: bytes) -> list[int]:
    """Return the 16-bit integers of texels, two per texel."""
    return [(high - 128) * 256 + low for high, low in zip(texels[::2], texels[1::2])]


def encode(integers: Sequence[int]) -> bytes:
    """Return the texels of 16-bit integers, two per texel."""
    return bytes(byte for n in integers for byte in (math.floor(n / 256) + 128, n - 256 * math.floor(n / 256)))


def fixed(value: float, scale: float) -> int:
    """Return the stored integer of a value in 16-bit fixed point."""
    return clip(value / scale * 256 + 0.5, -32768, 32767)


def tiles_of_picture(value: Value, pixels: bytes) -> Iterator[Tile]:
    """Yield the tiles of an image as (texture, x, y, width, height, bytes)."""
    ((texture, x, y),), channels = value["views"], value["channels"]
    texels = bytearray()
    for at in range(0, len(pixels), channels):
        pixel = pixels[at : at + channels]
        texels += pixel if channels == 4 else pixel + bytes(3 - channels) + b"\xff"
    yield texture, x, y, value["width"], value["height"], bytes(texels)


def tiles_of_numbers(value: Value, numbers: Sequence[float]) -> Iterator[Tile]:
    """Yield the tiles of a numeric input as (texture, x, y, width, height, bytes)."""
    if "views" not in value:
        integers = [fixed(number, value["scale"]) for number in numbers]
        integers += [0] * (len(integers) % 2)
        yield value["texture"], 0, 0, len(integers) // 2, 1, encode(integers)
        return
    channels, per_view = value["channels"], channels_of_view(value)
    for view, (texture, x, y) in enumerate(value["views"]):
        stored = range(view * per_view, min((view + 1) * per_view, channels))
        pixels = (numbers[at : at + channels] for at in range(0, len(numbers), channels))
        texels = b"".join(texel_of(value, pixel, stored) for pixel in pixels)
        yield texture, x, y, value["width"], value["height"], texels


def channels_of_view(value: Value) -> int:
    """Return the number of channels in a texel: two of 16 bits, or four of 8."""
    return 2 if "scale" in value or "bits" in value else 4


def texel_of(value: Value, pixel: Sequence[float], channels: Sequence[int]) -> bytes:
    """Return the texel of some channels of a pixel, in the value's format."""
    if "scale" in value:
        return encode([fixed(pixel[c], value["scale"]) for c in channels])
    stored = [pixel[c] / of(value["scales"], c) * 255 + of(value["zeros"], c) for c in channels]
    if "bits" in value:
        integers = [clip(number * 256 + 0.5, 0, 65280) for number in stored]
        return bytes(byte for n in integers for byte in divmod(n, 256)) + bytes(4 - 2 * len(channels))
    return bytes(clip(number + 0.5, 0, 255) for number in stored) + bytes(4 - len(channels))


def array_of(value: Value, read: Callable[[str], tuple[int, bytes]]) -> Array:
    """Return the array of a value; ``read`` returns a texture's width and its texels."""
    if "views" not in value:
        integers = decode(read(value["texture"])[1])[: value["length"]]
        return (value["length"],), [n * value["scale"] / 256 for n in integers]
    textures = {texture: read(texture) for texture, _, _ in value["views"]}
    numbers: list[float] = []
    per_view = channels_of_view(value)
    for y in range(value["height"]):
        for x in range(value["width"]):
            for c in range(value["channels"]):
                texture, left, top = value["views"][c // per_view]
                width, texels = textures[texture]
                at = 4 * ((top + y) * width + left + x)
                if "scale" in value:
                    numbers.append(decode(texels[at : at + 4])[c % 2] * value["scale"] / 256)
                else:
                    stored: float = texels[at + c % 4]
                    if "bits" in value:
                        stored = texels[at + 2 * (c % 2)] + texels[at + 2 * (c % 2) + 1] / 256
                    numbers.append(of(value["scales"], c) * (stored - of(value["zeros"], c)) / 255)
    return (value["height"], value["width"], value["channels"]), numbers


def rows_of(array: Array) -> list[list[float]]:
    """Return an array as rows along its last axis."""
    shape, values = array
    return [values[at : at + shape[-1]] for at in range(0, len(values), shape[-1])]


def softmax(row: list[float]) -> list[float]:
    exponentials = [math.exp(x - max(row)) for x in row]
    return [e / sum(exponentials) for e in exponentials]


def normalized(row: list[float]) -> list[float]:
    length = math.sqrt(max(sum(x * x for x in row), 1e-12))
    return [x / length for x in row]


def after(step: dict[str, Any], arrays: list[Array]) -> list[Array]:
    """Return the arrays after a host step."""
    name = step["step"]
    if name == "concatenate":
        shapes = [shape for shape, _ in arrays]
        values = list(itertools.chain.from_iterable(values for _, values in arrays))
        return [((sum(shape[0] for shape in shapes), *shapes[0][1:]), values)]
    if name == "rows":
        n = step["columns"]
        return [((len(values) // n, n), values) for _, values in arrays]
    if name == "sigmoid":
        return [(shape, [1 / (1 + math.exp(-x)) for x in values]) for shape, values in arrays]
    if name == "argmax":
        return [(array[0][:-1], [float(row.index(max(row))) for row in rows_of(array)]) for array in arrays]
    function = {"softmax": softmax, "l2-normalize": normalized}[name]
    return [(array[0], [x for row in rows_of(array) for x in function(row)]) for array in arrays]
