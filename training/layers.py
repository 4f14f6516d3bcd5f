"""Keras layers for training.

The activations and ``ChannelShuffle`` come from the engine, because saved models need them. The others make training
faster or imitate the engine's rounding, and are not in saved models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
from keras import ops

from glsl_infer.importers.keras.layers import ChannelShuffle, ClippedLinear, LearnableSigmoid, PiecewiseLinearSigmoid

__all__ = [
    "BlockDiagonalConv2D",
    "ChannelShuffle",
    "ClippedLinear",
    "LearnableSigmoid",
    "PiecewiseLinearSigmoid",
    "Stored",
    "noisy",
]

BLOCK = 64
"""Channels of a dense block. X22 at 385x385, bfloat16, batch 128, on an NVIDIA H200: 3,710 images/s with 32, 3,947 with
64, 3,971 with 96, and 2,785 with all channels."""


class BlockDiagonalConv2D(keras.layers.Conv2D):  # type: ignore[misc]
    """A grouped convolution computed as dense ones whose kernels are zero outside the groups.

    Grouped convolutions of few channels are slow on CPUs and GPUs alike, their gradients more so; dense products of
    block-diagonal kernels do more arithmetic and take less time. The weights have the same shapes and meaning as those
    of ``keras.layers.Conv2D`` with the same arguments, so ``set_weights`` and ``get_weights`` carry a trained network
    from one to the other.
    """

    def build(self, input_shape: Any) -> None:
        """Create the kernel, and the mask that distributes it over the input channels of a block."""
        super().build(input_shape)
        channels, per_group = input_shape[-1], input_shape[-1] // self.groups
        self._block = min(max(BLOCK, per_group), channels)
        if channels % self._block or self._block % per_group:
            self._block = channels
        filters = self.filters // (channels // self._block)
        in_group = np.arange(self._block) // per_group
        out_group = np.arange(filters) // (self.filters // self.groups)
        self._mask = (in_group[:, None] == out_group[None, :]).astype("float32")

    def call(self, inputs: Any) -> Any:
        """Convolve ``(batch, height, width, channels)``, block by block."""
        if self.groups == 1:
            return self._by_picture(inputs) if self.kernel_size == (1, 1) == self.strides else super().call(inputs)
        block, filters = self._mask.shape
        groups = block // self.kernel.shape[2]
        mask = ops.cast(self._mask, self.compute_dtype)
        outputs = []
        for index in range(inputs.shape[-1] // block):
            block_kernel = ops.cast(self.kernel[..., index * filters : (index + 1) * filters], self.compute_dtype)
            kernel = ops.tile(block_kernel, (1, 1, groups, 1)) * mask
            channels_of_block = inputs[..., index * block : (index + 1) * block]
            outputs.append(
                ops.conv(
                    channels_of_block,
                    kernel,
                    strides=self.strides,
                    padding=self.padding,
                    dilation_rate=self.dilation_rate,
                )
            )
        result = outputs[0] if len(outputs) == 1 else ops.concatenate(outputs, axis=-1)
        result = result if self.bias is None else result + self.bias
        return self.activation(result)

    def _by_picture(self, inputs: Any) -> Any:
        """Convolve with a 1x1 kernel, with a separate product for each image.

        With a single product, its gradient is a sum over a million pixels. XLA returns NaN for this gradient together
        with Adam's update, in bfloat16 networks with 32 input and 32 output channels (JAX 0.11.2 on NVIDIA H100 and
        H200; docs/guide/train-x22.md).
        """
        batch, height, width, channels = ops.shape(inputs)
        kernel = ops.reshape(ops.cast(self.kernel, self.compute_dtype), (1, channels, self.filters))
        kernels = ops.repeat(kernel, batch, axis=0)
        products = ops.matmul(ops.reshape(inputs, (batch, height * width, channels)), kernels)
        outputs = ops.reshape(products, (batch, height, width, self.filters))
        return self.activation(outputs if self.bias is None else outputs + self.bias)


class Stored(keras.layers.Layer):  # type: ignore[misc]
    """Rounding of a tensor stored in textures, with a straight-through gradient.

    Args:
        step: distance of stored values: 1/255 for a feature map with range [0, 1].
        quantized: whether to round to steps (docs/engineering/design.md, Number formats).

    Within ``noisy``, noise from ``seed`` is added.
    """

    def __init__(self, step: float = 1.0 / 255.0, *, quantized: bool = True, **kwargs: Any) -> None:
        super().__init__(trainable=False, **kwargs)
        self.step, self.quantized = step, quantized
        self.noise = 0.0
        self.seed = keras.random.SeedGenerator(0)

    def call(self, inputs: Any) -> Any:
        """Return a tensor of the same shape."""
        outputs = inputs
        if self.quantized:
            # In float32, because bfloat16 cannot represent the steps near 1.
            in_float32 = ops.cast(inputs, "float32")
            rounded = ops.round(in_float32 * (1.0 / self.step)) * self.step
            outputs = ops.cast(in_float32 + ops.stop_gradient(rounded - in_float32), inputs.dtype)
        if self.noise:
            width = self.noise * self.step
            outputs += keras.random.uniform(ops.shape(inputs), -width, width, dtype=inputs.dtype, seed=self.seed)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``."""
        return input_shape


@contextmanager
def noisy(network: keras.Model, steps: float) -> Iterator[None]:
    """Add uniform noise of up to ``steps`` steps to all stored tensors of ``network`` while it is traced."""
    layers = [layer for layer in network.layers if isinstance(layer, Stored)]
    for layer in layers:
        layer.noise = steps
    try:
        yield
    finally:
        for layer in layers:
            layer.noise = 0.0
