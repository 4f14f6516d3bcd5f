"""Keras layers used while training.

The activations and ``ChannelShuffle`` are the engine's (a saved model needs them);
``BlockDiagonalConv2D`` exists only to train faster and never ends up in a saved model.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from glsl_infer.importers.keras_layers import ChannelShuffle, ClippedLinear, LearnableSigmoid, PiecewiseLinearSigmoid

__all__ = ["BlockDiagonalConv2D", "ChannelShuffle", "ClippedLinear", "LearnableSigmoid", "PiecewiseLinearSigmoid"]


@keras.saving.register_keras_serializable(package="glsl_infer_training")
class BlockDiagonalConv2D(keras.layers.Conv2D):  # type: ignore[misc]
    """A grouped convolution computed as a dense one whose kernel is zero outside the groups.

    TensorFlow's grouped convolution is slow on a CPU, its gradient more so; the dense product of a
    block-diagonal kernel does more arithmetic and takes less time. The weights have the same shapes
    and meaning as those of ``keras.layers.Conv2D`` with the same arguments, so ``set_weights`` and
    ``get_weights`` carry a trained network from one to the other.
    """

    def build(self, input_shape: Any) -> None:
        """Create the kernel and the mask that spreads it over all input channels."""
        super().build(input_shape)
        channels = input_shape[-1]
        in_group = np.arange(channels) // (channels // self.groups)
        out_group = np.arange(self.filters) // (self.filters // self.groups)
        self._mask = (in_group[:, None] == out_group[None, :]).astype("float32")

    def call(self, inputs: Any) -> Any:
        """Convolve ``(batch, height, width, channels)`` with the block-diagonal kernel."""
        if self.groups == 1:
            return super().call(inputs)
        kernel = ops.tile(self.kernel, (1, 1, self.groups, 1)) * self._mask
        outputs = ops.conv(inputs, kernel, strides=self.strides, padding=self.padding)
        return outputs if self.bias is None else outputs + self.bias
