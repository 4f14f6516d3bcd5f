"""Fold scales and zero points into the constants of shaders. Texels then need no conversion.

A texel t has the value ``scale * t - scale * zero / 255``, and a store of y needs ``y / scale + zero / 255``. Both are
linear, so they become part of weights and biases at export.
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
from glsl_infer.support.resources import template

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node

Numbers = NDArray[np.float64]

MOST_RATIO = 1000.0
"""Largest ratio of the widest to the narrowest range whose factors fit a texture with 24 bits. Half a step is then
1/16,800 of the smallest factor, and 1/65 of an 8-bit step."""


@dataclass(frozen=True)
class StoredSum:
    """Conversion of a sum of real values to the stored value.

    Attributes:
        activation: function in the shader; ``linear`` if the store's saturation replaces it.
        factor: factor of the sum, (channels,).
        offset: addend of the product, (channels,).
        pad: sum that stores 0, for padding lanes.
        constants: macros of the shader, a row for each slice, (slices, 4): parameters of the activation, and the
            conversion of its result to the stored range.
    """

    activation: Activation
    factor: Numbers
    offset: Numbers
    pad: float
    constants: Mapping[str, NDArray[np.float32]]

    def uniforms(self, index: int) -> dict[str, list[float]]:
        """Return the uniforms of a slice's draw: its row of ``numbers``."""
        return codegen.uniforms(self.constants, index)

    @property
    def untextured(self) -> str:
        """Reason why its per-channel constants cannot be in a texture; empty if they can."""
        if self.numbers and self.activation.slope is None:
            return f"'{self.activation.name}' has numbers for each channel, and no bound for its slope"
        factors = np.abs(self.numbers.get("RANGE_FACTOR", np.ones((1, 4), np.float32)))
        if factors.max() > MOST_RATIO * factors[factors > 0.0].min():
            return f"the ranges of its channels differ by more than {MOST_RATIO:,.0f} times"
        return ""

    @property
    def takes_root(self) -> bool:
        """True if the activation takes an inverse square root."""
        return "inversesqrt(" in template(self.activation.template)

    @property
    def steepness(self) -> NDArray[np.float32]:
        """Largest amplification of an error of the sum, (slices or 1, 4); 1 without per-channel constants."""
        ones = np.ones((1, 4), np.float32)
        if not self.numbers:
            return ones
        slopes = self.numbers.get("SLOPE", np.float32(self.activation.slope or 1.0) * ones)
        steepness: NDArray[np.float32] = np.maximum(np.abs(slopes), 1.0) * self.numbers.get("RANGE_FACTOR", ones)
        return steepness

    @property
    def numbers(self) -> dict[str, NDArray[np.float32]]:
        """Constants that differ between slices, by macro."""
        return codegen.differing(self.constants)

    @property
    def alike_in_lanes(self) -> bool:
        """True if the other constants are equal in all channels, so that a shader can compute these in any lane."""
        return all((rows[0] == rows[0, 0]).all() for name, rows in self.constants.items() if name not in self.numbers)


def output(activation: Activation, attrs: Mapping[str, Any], channels: int) -> StoredSum:
    """Return the conversion for a node with an activation and the attributes ``scales`` and ``zeros``.

    A clipping function is computed by the store, which saturates at the ends of the range; they must be within the
    function's bounds. Other functions are applied to real values, and their result is scaled, unless they commute with
    scaling. The line of a piecewise-linear function, whose range is [0, 1], becomes part of the sum.

    Raises:
        ValueError: the range exceeds the function's, or its parameters are for another number of channels.
    """
    scales, zeros = per_channel(attrs["scales"], channels), per_channel(attrs["zeros"], channels)
    ones, zeros_of_channels = np.ones(channels), np.zeros(channels)
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
            return StoredSum(activation, ones, zeros_of_channels, activation.lowest_at, {})
        line, remaining_activation = activation.pieces, LINEAR
        if line.clamps:
            remaining_activation = of_pieces(line.folded)
        return StoredSum(remaining_activation, ones * line.factor, ones * line.offset, activation.lowest_at, {})
    factor = 1.0 / scales if activation.scales else ones
    range_constants = {"RANGE_FACTOR": ones if activation.scales else 1.0 / scales, "RANGE_OFFSET": zeros / 255.0}
    neutral = {"RANGE_FACTOR": 1.0, "RANGE_OFFSET": 0.0}
    range_constants = {name: numbers for name, numbers in range_constants.items() if np.any(numbers != neutral[name])}
    pad, masked = _pad(activation, 1.0 / scales, zeros / 255.0)
    constants = {name: slices(numbers, 0.0 if masked else numbers[-1]) for name, numbers in range_constants.items()}
    return StoredSum(
        activation, factor, zeros_of_channels, pad, {**constants, **function_constants(activation, channels)}
    )


def function_constants(activation: Activation, channels: int, lanes: int = 4) -> dict[str, NDArray[np.float32]]:
    """Return the macros of an activation's shader, a row for each texel of ``lanes`` lanes, (texels, lanes)."""
    rows = {}
    for name, value in activation.constants.items():
        numbers = np.broadcast_to(np.asarray(value, np.float64), channels)
        rows[name] = slices(numbers, float(numbers[-1]), lanes)
    return rows


def pair_constants(activation: Activation, length: int) -> dict[str, NDArray[np.float32]]:
    """Return the macros of an activation's shader for a vector, a row for each texel, (texels, 4).

    Two elements share a texel and are computed twice, because constants of the activation have four lanes.
    """
    return {name: np.tile(rows, 2) for name, rows in function_constants(activation, length, lanes=2).items()}


def _pad(activation: Activation, factor: Numbers, offset: Numbers) -> tuple[float, bool]:
    """Return the sum for padding lanes, and whether the range's factor and offset must be 0 there."""
    zero_input = activation.lowest_at
    lowest = 0.0 if activation.scales else float(activation(np.array([zero_input]))[0])
    if np.all(lowest * factor + offset < 1.0 / 1024.0):
        return zero_input, False
    return 0.0, True


def addend(source: Ranged, out: StoredSum) -> tuple[Numbers, Numbers]:
    """Return (factor, offset), (channels,) each: a texel t adds ``factor * t + offset`` to the stored sum."""
    factor = out.factor * source.scale_of
    return factor, -factor * source.zero_of / 255.0


def slices(numbers: Array, pad: float = 0.0, lanes: int = 4) -> NDArray[np.float32]:
    """Reshape (channels,) to float32 (slices, lanes), with ``pad`` in padding lanes."""
    padded = np.full(-(-len(numbers) // lanes) * lanes, pad, np.float32)
    padded[: len(numbers)] = numbers
    return padded.reshape(-1, lanes)


ALPHA = 3
"""Lane of alpha in the texels of an image."""


class Kernel:
    """Conversion of a convolution's kernel and bias to units of texels and of the stored output, and back.

    Args:
        node: a conv2d with its range; its weights are not used.
        source: its input.
        residual: its residual, if any.
        shape: of the kernel, (height, width, channels / groups, filters).
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
        """Return the kernel for texels (4 channels if alpha carries the offset), and the bias."""
        folded = kernel * self._factor
        offset = -(folded * self._zero).sum(axis=2, keepdims=True)
        if self.alpha:
            missing_channels = np.zeros((*folded.shape[:2], ALPHA - folded.shape[2], folded.shape[3]), folded.dtype)
            folded = np.concatenate([folded, missing_channels, offset], axis=2)
        total = bias * self.output.factor + self.output.offset + self._residual_offset
        if not self.alpha:
            total = total + offset.sum(axis=(0, 1, 2))
        return streamed(folded.astype(np.float32)), streamed(total.astype(np.float32))

    def unfold(
        self, folded: NDArray[np.float32], total: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return kernel and bias; the inverse of ``fold``."""
        channels = self._factor.shape[0]
        texels = folded[:, :, :channels].astype(np.float64)
        unscaled = total.astype(np.float64) - self.output.offset - self._residual_offset
        if not self.alpha:
            unscaled = unscaled + (texels * self._zero).sum(axis=(0, 1, 2))
        kernel = texels / self._factor
        return kernel.astype(np.float32), (unscaled / self.output.factor).astype(np.float32)
