"""The probe of a bundle: inputs defined by a formula, and the expected result of every layer.

A bundle contains a few hundred texels of every layer. With these, a runner can check on any machine whether the driver
computes correctly, and find a wrong layer. ``compiler.probe`` computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from glsl_infer.bundle.manifest import PICTURE, Input, Probe, ProbeLayer
from glsl_infer.errors import BundleError
from glsl_infer.program import quantize
from glsl_infer.program.layout import FeatureMap, FixedPoint, SixteenBitMap
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.records import dataclass

MEMBER = "weights/probe.bin"
RECORD = np.dtype([("x", "<u2"), ("y", "<u2"), ("value", "u1", 4)])
"""A texel: its position in the texture, and its bytes."""


@dataclass(frozen=True)
class LayerError:
    """Difference of one layer from the probe, in stored integers."""

    layer: str
    worst: float
    mean: float
    allowed: ProbeLayer

    @property
    def passed(self) -> bool:
        """True if both errors are within the tolerance."""
        return self.worst <= self.allowed.max_error and self.mean <= self.allowed.mean_error


def picture(height: int, width: int | None = None, channels: int = 3, index: int = 0) -> NDArray[np.uint8]:
    """Return the bytes of ``PROBE_FORMULA`` for the input with an index, uint8 (height, width, channels).

    Without a ``width`` the picture is square.
    """
    y, x = np.arange(height)[:, None], np.arange(width or height)
    pattern = ((3 * x * x + 5 * y * y + 7 * x * y) // 8).astype(np.uint8)  # uint8 arithmetic is modulo 256
    values: NDArray[np.uint8] = pattern[..., None] + (89 * np.arange(channels) + 37 * index).astype(np.uint8)
    return values


def stored(entry: Input, index: int) -> NDArray[np.integer[Any]]:
    """Return the probe's values of the input with an index, in the unit of its textures and the input's shape.

    The values are bytes, uint8, for a picture (pixels) and an 8- or 16-bit feature map; integers n for a vector and a
    map in fixed point.
    """
    values = picture(entry.height, entry.width, entry.channels, index)
    if isinstance(entry.value, (FeatureMap, SixteenBitMap)):
        return values
    return 256 * (values.astype(np.int64) - 128).reshape(entry.shape)


def inputs(entries: Sequence[Input]) -> dict[str, NDArray[Any]]:
    """Return the probe's value of every input, by name: pixels of a picture, uint8; other values, float64."""
    return {entry.name: _input_values(entry, stored(entry, index)) for index, entry in enumerate(entries)}


def _input_values(entry: Input, steps: NDArray[Any]) -> NDArray[Any]:
    if entry.kind == PICTURE:
        return steps
    value, numbers = entry.value, steps.astype(np.float64)
    if isinstance(value, (FeatureMap, SixteenBitMap)):
        return value.scale_of * (numbers - value.zero_of) / 255.0
    return numbers * (value.scale / 256.0)


def compare(
    probe: Probe,
    member: bytes,
    outputs: Iterable[tuple[str, Mapping[str, NDArray[np.uint8]]]],
) -> Iterator[LayerError]:
    """Yield the error of every layer.

    Args:
        probe: from the manifest.
        member: bytes of its member.
        outputs: the name of every layer in the probe's order, and its textures by name, uint8 (height, width, 4).
    """
    records = np.frombuffer(member, RECORD)
    layer_by_name = {layer.layer: layer for layer in probe.layers}
    for name, textures in outputs:
        layer = layer_by_name[name]
        expected = records[layer.offset : layer.offset + layer.count]
        difference = np.abs(_difference(layer, expected, textures))
        yield LayerError(name, float(difference.max()), float(difference.mean()), layer)


def _difference(
    layer: ProbeLayer, expected: NDArray[np.void], textures: Mapping[str, NDArray[np.uint8]]
) -> NDArray[np.integer[Any]]:
    """Return the differences of a layer's texels from their records, in stored integers.

    Args:
        layer: the layer.
        expected: its records.
        textures: its textures by name, uint8 (height, width, 4).
    """
    value = layer.value
    names = [value.texture] if isinstance(value, FixedPoint) else [view.texture for view in value.views]
    texels = [textures[names[k % len(names)]][record["y"], record["x"]] for k, record in enumerate(expected)]
    drawn = np.array(texels, np.uint8)
    difference: NDArray[np.integer[Any]]
    if isinstance(value, FeatureMap):
        difference = drawn.astype(np.int64) - expected["value"]
        return difference
    shape = (layer.count, 2, 2)
    difference = quantize.join_fixed16(drawn.reshape(shape)) - quantize.join_fixed16(expected["value"].reshape(shape))
    if isinstance(value, FixedPoint):  # without the pad of odd lengths
        pair = expected["y" if value.columns else "x"].astype(np.int64)
        difference = difference[2 * pair[:, None] + np.arange(2) < value.length]
    return difference


def check(probe: Probe, member: bytes) -> None:
    """Refuse records outside the output of their layer.

    Raises:
        BundleError: names the layer.
    """
    if len(member) % RECORD.itemsize:
        raise BundleError(f"probe: member '{probe.member}' is not a sequence of {RECORD.itemsize}-byte records")
    records = np.frombuffer(member, RECORD)
    for layer in probe.layers:
        value, layer_records = layer.value, records[layer.offset : layer.offset + layer.count]
        x, y = layer_records["x"].astype(np.int64), layer_records["y"].astype(np.int64)
        if isinstance(value, FixedPoint):
            left = top = np.zeros(len(layer_records), np.int64)
            width, height = value.size
        else:
            views = [value.views[k % len(value.views)] for k in range(layer.count)]
            left, top = np.array([view.x for view in views]), np.array([view.y for view in views])
            width, height = value.width, value.height
        if ((x < left) | (y < top) | (x >= left + width) | (y >= top + height)).any():
            raise BundleError(f"probe: a texel of layer '{layer.layer}' is outside its output")
