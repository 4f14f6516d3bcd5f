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

from glsl_infer.graph.activations import activation
from glsl_infer.graph.kernels import input_channels
from glsl_infer.lowering.immediates import streamed
from glsl_infer.program.layout import FeatureMap, per_channel

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Output:
    """What a sum of real values still needs before it is stored.

    Attributes:
        activation: the function that the shader applies; ``linear`` where the store's own saturation does it.
        factor: multiplies the sum, (channels,).
        offset: is added to the product, (channels,).
        pad: the sum that stores 0, for lanes beyond the last channel.
    """

    activation: str
    factor: Numbers
    offset: Numbers
    pad: float


def output(name: str, attrs: Mapping[str, Any], channels: int) -> Output:
    """Return how a node with activation ``name`` and attributes ``scales`` and ``zeros`` stores its sums.

    A function that only clips is done by the store, which saturates at the ends of the range: these lie within the
    function's. Any other is applied to real values, and stores its own range of [0, 1]; of a piecewise linear one the
    line goes into the sum.
    """
    scales, zeros = per_channel(attrs["scales"], channels), per_channel(attrs["zeros"], channels)
    function = activation(name)
    if not function.clips:
        if np.any(scales != 1.0) or np.any(zeros):
            raise ValueError(f"activation '{name}' is stored over [0, 1] only")
        factor, offset = np.full(channels, function.factor), np.full(channels, function.offset)
        return Output(function.rest or name, factor, offset, function.zero)
    lowest, highest = 0.0 - scales * zeros / 255.0, scales * (255.0 - zeros) / 255.0
    slack = 1e-6 * scales
    if np.any(lowest < function.low - slack) or np.any(highest > function.high + slack):
        raise ValueError(f"a range of {lowest.min():g} to {highest.max():g} is wider than that of '{name}'")
    return Output("linear", 1.0 / scales, zeros / 255.0, 0.0)


def addend(source: FeatureMap, out: Output) -> tuple[Numbers, Numbers]:
    """Return (factor, offset), each (channels,), so that a texel t adds ``factor * t + offset`` to the stored sum."""
    factor = out.factor * source.scale_of
    return factor, -factor * source.zero_of / 255.0


def slices(numbers: Array, pad: float = 0.0) -> NDArray[np.float32]:
    """Return numbers (channels,) as float32 (slices, 4), with ``pad`` in the lanes beyond the last."""
    padded = np.full(-(-len(numbers) // 4) * 4, pad, np.float32)
    padded[: len(numbers)] = numbers
    return padded.reshape(-1, 4)


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

    def __init__(self, node: Node, source: FeatureMap, residual: FeatureMap | None, shape: tuple[int, ...]) -> None:
        filters = shape[3]
        self.alpha = bool(node.attrs["alpha"])
        self.output = output(node.attrs["activation"], node.attrs, filters)
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
