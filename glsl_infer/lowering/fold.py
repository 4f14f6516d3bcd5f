"""Affine ranges folded into the constants of a shader, so that no texel is ever transformed.

A texel t holds the value ``scale * t - scale * zero / 255``, and a store of y needs
``y / scale + zero / 255``. Both are linear, so they go into weights and biases at export.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph.activations.activation import Activation
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.activations.sigmoids import of_pieces
from glsl_infer.graph.kernels import input_channels
from glsl_infer.lowering import codegen
from glsl_infer.lowering.immediates import streamed
from glsl_infer.program.layout import Ranged, per_channel

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node

Numbers = NDArray[np.float64]

MOST_RATIO = 1000.0
"""Most between the widest range and the narrowest whose factors a texture has in 24 bits, of which half a step is then
a 16,800th of the smallest: a 65th of a step of 8 bits."""


@dataclass(frozen=True)
class StoredSum:
    """What a sum of real values still needs before it is stored.

    Attributes:
        activation: the function that the shader applies; ``linear`` where the store's own saturation does it.
        factor: multiplies the sum, (channels,).
        offset: is added to the product, (channels,).
        pad: the sum that stores 0, for lanes beyond the last channel.
        constants: macros of the shader, a row for each slice, (slices, 4): the function's, and what turns its result
            into what is stored.
    """

    activation: Activation
    factor: Numbers
    offset: Numbers
    pad: float
    constants: Mapping[str, NDArray[np.float32]]

    def uniforms(self, index: int) -> dict[str, list[float]]:
        """Return the uniforms of the draw of one slice: the constants that are not the same for all."""
        return codegen.uniforms(self.constants, index)

    @property
    def untextured(self) -> str:
        """Why its numbers cannot lie in a texture, or an empty text."""
        if self.numbers and self.activation.slope is None:
            return f"'{self.activation.name}' has numbers for each channel, and no bound for its slope"
        factors = np.abs(self.numbers.get("RANGE_FACTOR", np.ones((1, 4), np.float32)))
        if factors.max() > MOST_RATIO * factors[factors > 0.0].min():
            return f"the ranges of its channels differ by more than {MOST_RATIO:,.0f} times"
        return ""

    @property
    def steepness(self) -> NDArray[np.float32]:
        """How many times what a sum is off by a stored value may be off by, (slices or 1, 4); 1 without numbers."""
        plain = np.ones((1, 4), np.float32)
        if not self.numbers:
            return plain
        slopes = self.numbers.get("SLOPE", np.float32(self.activation.slope or 1.0) * plain)
        steepness: NDArray[np.float32] = np.maximum(np.abs(slopes), 1.0) * self.numbers.get("RANGE_FACTOR", plain)
        return steepness

    @property
    def numbers(self) -> dict[str, NDArray[np.float32]]:
        """The constants that are not the same for all slices, by their macros."""
        return codegen.differing(self.constants)

    @property
    def alike_in_lanes(self) -> bool:
        """Whether its other constants are the same for all channels, so that a shader can have these in any lane."""
        return all((rows[0] == rows[0, 0]).all() for name, rows in self.constants.items() if name not in self.numbers)


def output(activation: Activation, attrs: Mapping[str, Any], channels: int) -> StoredSum:
    """Return how a node with an activation and attributes ``scales`` and ``zeros`` stores its sums.

    A function that only clips is done by the store, which saturates at the ends of the range: these lie within the
    function's. Any other is applied to real values, and its result scaled, unless weights can scale the sum instead. Of
    a piecewise linear one, which stores its own range of [0, 1], the line goes into the sum.

    Raises:
        ValueError: the function has no values where the range has, or parameters for other channels.
    """
    scales, zeros = per_channel(attrs["scales"], channels), per_channel(attrs["zeros"], channels)
    ones, nothing = np.ones(channels), np.zeros(channels)
    if not activation.fits(channels):
        raise ValueError(f"'{activation.name}' has parameters for {activation.channels} channels, not {channels}")
    if activation.clips:
        lowest, highest = 0.0 - scales * zeros / 255.0, scales * (255.0 - zeros) / 255.0
        slack = 1e-6 * scales
        if np.any(lowest < activation.low - slack) or np.any(highest > activation.high + slack):
            raise ValueError(
                f"a range of {lowest.min():g} to {highest.max():g} is wider than that of '{activation.text}'"
            )
        return StoredSum(LINEAR, 1.0 / scales, zeros / 255.0, 0.0, {})
    if activation.pieces is not None:
        if np.any(scales != 1.0) or np.any(zeros):
            raise ValueError(f"activation '{activation.text}' is stored over [0, 1] only")
        if activation.name != "piecewise_linear":
            return StoredSum(activation, ones, nothing, activation.lowest_at, {})
        line, rest = activation.pieces, LINEAR
        if line.clamps:
            rest = of_pieces(line.folded)
        return StoredSum(rest, ones * line.factor, ones * line.offset, activation.lowest_at, {})
    factor = 1.0 / scales if activation.scales else ones
    after = {"RANGE_FACTOR": ones if activation.scales else 1.0 / scales, "RANGE_OFFSET": zeros / 255.0}
    neutral = {"RANGE_FACTOR": 1.0, "RANGE_OFFSET": 0.0}
    after = {name: numbers for name, numbers in after.items() if np.any(numbers != neutral[name])}
    pad, masked = _pad(activation, 1.0 / scales, zeros / 255.0)
    constants = {name: slices(numbers, 0.0 if masked else numbers[-1]) for name, numbers in after.items()}
    return StoredSum(activation, factor, nothing, pad, {**constants, **function_constants(activation, channels)})


def function_constants(activation: Activation, channels: int, lanes: int = 4) -> dict[str, NDArray[np.float32]]:
    """Return the macros of an activation's shader, a row for each texel of so many lanes, (texels, lanes)."""
    rows = {}
    for name, value in activation.constants.items():
        numbers = np.broadcast_to(np.asarray(value, np.float64), channels)
        rows[name] = slices(numbers, float(numbers[-1]), lanes)
    return rows


def _pad(activation: Activation, factor: Numbers, offset: Numbers) -> tuple[float, bool]:
    """Return what a sum is in lanes beyond the last channel, and whether factor and offset have to be 0 there."""
    at = activation.lowest_at
    lowest = 0.0 if activation.scales else float(activation(np.array([at]))[0])
    if np.all(lowest * factor + offset < 1.0 / 1024.0):
        return at, False
    return 0.0, True


def addend(source: Ranged, out: StoredSum) -> tuple[Numbers, Numbers]:
    """Return (factor, offset), each (channels,), so that a texel t adds ``factor * t + offset`` to the stored sum."""
    factor = out.factor * source.scale_of
    return factor, -factor * source.zero_of / 255.0


def slices(numbers: Array, pad: float = 0.0, lanes: int = 4) -> NDArray[np.float32]:
    """Return numbers (channels,) as float32 (slices, lanes), with ``pad`` in the lanes beyond the last."""
    padded = np.full(-(-len(numbers) // lanes) * lanes, pad, np.float32)
    padded[: len(numbers)] = numbers
    return padded.reshape(-1, lanes)


ALPHA = 3
"""The lane in which a picture's texels have their alpha."""


class Kernel:
    """A convolution's kernel and bias in units of texels and of the stored output, and back.

    Args:
        node: a conv2d with its range; its weights are not looked at.
        source: where its input lies.
        residual: where its residual lies, if it has one.
        shape: of the kernel (height, width, channels / groups, filters).
    """

    def __init__(self, node: Node, source: Ranged, residual: Ranged | None, shape: tuple[int, ...]) -> None:
        filters = shape[3]
        self.alpha = bool(node.attrs["alpha"])
        self.output = output(node.activation, node.attrs, filters)
        channel = input_channels(shape, node.attrs["groups"])
        self._factor = source.scale_of[channel] * self.output.factor
        self._zero = source.zero_of[channel] / 255.0
        self.residual_factor, self._residual_offset = (
            (np.ones(filters), np.zeros(filters)) if residual is None else addend(residual, self.output)
        )

    def fold(
        self, kernel: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the kernel for texels (4 channels where alpha carries the offset), and the bias."""
        folded = kernel * self._factor
        offset = -(folded * self._zero).sum(axis=2, keepdims=True)
        if self.alpha:
            none = np.zeros((*folded.shape[:2], ALPHA - folded.shape[2], folded.shape[3]), folded.dtype)
            folded = np.concatenate([folded, none, offset], axis=2)
        total = bias * self.output.factor + self.output.offset + self._residual_offset
        if not self.alpha:
            total = total + offset.sum(axis=(0, 1, 2))
        return streamed(folded.astype(np.float32)), streamed(total.astype(np.float32))

    def unfold(
        self, folded: NDArray[np.float32], total: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return kernel and bias from what ``fold`` made."""
        channels = self._factor.shape[0]
        texels = folded[:, :, :channels].astype(np.float64)
        rest = total.astype(np.float64) - self.output.offset - self._residual_offset
        if not self.alpha:
            rest = rest + (texels * self._zero).sum(axis=(0, 1, 2))
        kernel = texels / self._factor
        return kernel.astype(np.float32), (rest / self.output.factor).astype(np.float32)
