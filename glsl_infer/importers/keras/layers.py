"""The engine's own Keras layers.

They are part of the engine, not of ``training``, so that a saved ``.keras`` file can be exported without the training
package. Importing this module imports Keras.
"""

from __future__ import annotations

import math
from typing import Any

import keras
from keras import ops

from glsl_infer.graph.piecewise_linear import PiecewiseLinear, of_slopes
from glsl_infer.ops.channel_shuffle import shuffle_order

PACKAGE = "glsl_infer"


@keras.saving.register_keras_serializable(package=PACKAGE)
class PiecewiseLinearSigmoid(keras.layers.Layer):  # type: ignore[misc]
    """A piecewise linear sigmoid with seven segments, for GPUs with ``clamp`` but without a cheap ``exp``.

    ``y = clip(0.05x + clip(0.1x, -0.05, 0.05) + clip(0.05x, -0.125, 0.125), -0.5, 0.5) + 0.5``

    Any input shape; output of the same shape, in [0, 1]. The slope is 0.2 for |x| < 0.5, 0.1 up to
    2.5, 0.05 up to 6.5 and 0 beyond (formula: docs/engineering/design.md, after the article's own repository).
    """

    def call(self, inputs: Any) -> Any:
        """Apply the activation elementwise."""
        steep = ops.clip(0.1 * inputs, -0.05, 0.05)
        middle = ops.clip(0.05 * inputs, -0.125, 0.125)
        return ops.clip(0.05 * inputs + steep + middle, -0.5, 0.5) + 0.5

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``: the layer works elementwise."""
        return input_shape


@keras.saving.register_keras_serializable(package=PACKAGE)
class LearnableSigmoid(keras.layers.Layer):  # type: ignore[misc]
    """A piecewise linear sigmoid with seven segments and learnt slopes and breakpoints, shared by all channels.

    Its initial function is ``PiecewiseLinearSigmoid``. With u = x - x0, for the breakpoints a < b < 0 < c < d,

    ``y = clip(y0 + s0*u + s1*clip(u, b, c) + s2*clip(u, a, d), 0, 1)``

    Any input shape; output of the same shape, in [0, 1]. For all weights, y never decreases and breakpoints keep their
    order: slopes and gaps between breakpoints are softplus functions of the weights, and s0 is at least ``FLATTEST``.
    All weights are initially 0, so weight decay pulls back to the initial function. They are stored, and y is computed,
    in float32 (in float64 under that policy), even for bfloat16 features: gradients are sums over entire batches.

    Weights: ``slopes`` (3,), of s0, s1, s2; ``gaps`` (3,), of b - a, c - b, d - c; ``centre`` (2,), of x0 and y0.
    """

    FLATTEST = 2.0**-10
    """The smallest slope between 0 and 1: the gradient does not vanish left or right of all breakpoints."""

    SLOPES = (0.05 - FLATTEST, 0.1, 0.05)
    GAPS = (2.0, 1.0, 2.0)
    CENTRE = (0.0, 0.5)

    def build(self, input_shape: Any) -> None:
        """Create the weights."""
        for name in ("slopes", "gaps", "centre"):
            start = getattr(self, name.upper())
            # autocast would round them to bfloat16 in mixed precision
            setattr(self, name, self.add_weight((len(start),), "zeros", name=name, autocast=False))
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """Apply the activation elementwise."""
        dtype = "float64" if self.compute_dtype == "float64" else "float32"
        slopes, breakpoints, centre = self._curve(dtype)
        u = ops.cast(inputs, dtype) - centre[0]
        y = centre[1] + slopes[0] * u
        y = y + slopes[1] * ops.clip(u, breakpoints[1], breakpoints[2])
        y = y + slopes[2] * ops.clip(u, breakpoints[0], breakpoints[3])
        return ops.cast(ops.clip(y, 0.0, 1.0), self.compute_dtype)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``: the layer works elementwise."""
        return input_shape

    def function(self) -> PiecewiseLinear:
        """Return the current function of the layer as an activation of the engine.

        Raises:
            ValueError: weights are not finite, or breakpoints are far outside the range of the network's values.
        """
        (outer, *slopes), (a, b, c, d), (x, y) = (
            [float(value) for value in ops.convert_to_numpy(tensor)] for tensor in self._curve("float32")
        )
        return of_slopes(outer, slopes, [(b, c), (a, d)], (x, y))

    def _curve(self, dtype: str) -> tuple[Any, Any, Any]:
        """Return the slopes (3,), breakpoints (4,) and centre (2,) of the current function."""
        slopes = _positive(self.slopes, self.SLOPES, dtype) + ops.convert_to_tensor([self.FLATTEST, 0.0, 0.0], dtype)
        left, middle, right = ops.unstack(_positive(self.gaps, self.GAPS, dtype))
        half = 0.5 * middle
        breakpoints = ops.stack([-half - left, -half, half, half + right])
        return slopes, breakpoints, ops.cast(self.centre, dtype) + ops.convert_to_tensor(self.CENTRE, dtype)


def _positive(weight: Any, start: tuple[float, ...], dtype: str) -> Any:
    """Return positive values that equal ``start`` for a weight of 0."""
    raw = [math.log(math.expm1(value)) for value in start]
    return ops.softplus(ops.cast(weight, dtype) + ops.convert_to_tensor(raw, dtype))


@keras.saving.register_keras_serializable(package=PACKAGE)
class ClippedLinear(keras.layers.Layer):  # type: ignore[misc]
    """A linear function clamped to [0, 1]: ``y = clip(scale * x + offset, 0, 1)``.

    Any input shape; output of the same shape, in [0, 1]. It is free in a shader: the linear function is folded into the
    weights of the previous layer, and the store clamps the result. ``ClippedLinear(1 / 6)`` is a sixth of ReLU6, and
    ``ClippedLinear(1 / 6, 0.5)`` is Keras' hard sigmoid.

    Args:
        scale: slope of the line, positive.
        offset: its value at 0.

    Raises:
        ValueError: the scale is not positive, or a number is not finite.
    """

    def __init__(self, scale: float, offset: float = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale, self.offset = float(scale), float(offset)
        try:
            self.function()
        except ValueError:
            raise ValueError(f"ClippedLinear: scale={scale}, offset={offset}; give a positive scale") from None

    def call(self, inputs: Any) -> Any:
        """Apply the activation elementwise."""
        return ops.clip(self.scale * inputs + self.offset, 0.0, 1.0)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``: the layer works elementwise."""
        return input_shape

    def function(self) -> PiecewiseLinear:
        """Return the function of the layer as an activation of the engine."""
        return PiecewiseLinear(self.scale, self.offset)

    def get_config(self) -> dict[str, Any]:
        """Return the config for a saved model."""
        return {**super().get_config(), "scale": self.scale, "offset": self.offset}


@keras.saving.register_keras_serializable(package=PACKAGE)
class ChannelShuffle(keras.layers.Layer):  # type: ignore[misc]
    """Reorder the slices (groups of 4 channels) of a feature map; free on the GPU.

    With ``d = channels / 4`` slices, output slice ``i`` is input slice ``(step*i) mod d + (step*i) div d``.

    Args:
        step: distance, in slices, between neighbours of the output. ``d`` must be a multiple of ``step``, or must
            not exceed it. In the latter case the order stays unchanged.

    Raises:
        ValueError: the layer is built on a number of channels for which the order is not a permutation.
    """

    def __init__(self, step: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def build(self, input_shape: Any) -> None:
        """Compute the order of the channels from the input shape ``(batch, height, width, channels)``."""
        self._order = [4 * s + lane for s in shuffle_order(input_shape[-1], self.step) for lane in range(4)]
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """Reorder the last axis."""
        return ops.take(inputs, self._order, axis=-1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``: only the order changes."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return the config for a saved model."""
        return {**super().get_config(), "step": self.step}


@keras.saving.register_keras_serializable(package=PACKAGE)
class DepthToSpace(keras.layers.Layer):  # type: ignore[misc]
    """Rearrange blocks of channels to blocks of pixels (pixel shuffle), as ``tf.nn.depth_to_space`` does for NHWC.

    Pixel ``(y * b + i, x * b + j)`` of the output has the channels from ``(i * b + j) * c`` on of pixel ``(y, x)``,
    for ``b = block_size`` and ``c = channels / b**2``. Output shape: (batch, height * b, width * b, c).

    Args:
        block_size: height and width of a block, 1 or more.

    Raises:
        ValueError: ``block_size`` is less than 1, or the number of channels is not a multiple of its square.
    """

    def __init__(self, block_size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if block_size < 1:
            raise ValueError(f"DepthToSpace: block_size={block_size}; give 1 or more")
        self.block_size = block_size

    def build(self, input_shape: Any) -> None:
        """Check the channels of the input shape ``(batch, height, width, channels)``."""
        self.compute_output_shape(input_shape)
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """Split the last axis and merge its parts into rows and columns."""
        block = self.block_size
        height, width, channels = ops.shape(inputs)[1:]
        channels //= block**2
        parts = ops.reshape(inputs, (-1, height, width, block, block, channels))
        parts = ops.transpose(parts, (0, 1, 3, 2, 4, 5))
        return ops.reshape(parts, (-1, height * block, width * block, channels))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return (batch, height * block, width * block, channels / block**2); sizes that are None stay None."""
        batch, height, width, channels = input_shape
        if channels % self.block_size**2:
            raise ValueError(
                f"DepthToSpace({self.block_size}) on {channels} channels: needs a multiple of {self.block_size**2}"
            )
        sizes = [size if size is None else size * self.block_size for size in (height, width)]
        return (batch, *sizes, channels // self.block_size**2)

    def get_config(self) -> dict[str, Any]:
        """Return the config for a saved model."""
        return {**super().get_config(), "block_size": self.block_size}
