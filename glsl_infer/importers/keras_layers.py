"""The Keras layers of our own.

They live in the engine, not in ``training``, so that a saved ``.keras`` file can be exported by
someone who does not have the training package. Importing this module imports Keras.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from glsl_infer.ops.channel_shuffle import shuffle_order

PACKAGE = "glsl_infer"


@keras.saving.register_keras_serializable(package=PACKAGE)
class PiecewiseLinearSigmoid(keras.layers.Layer):  # type: ignore[misc]
    """A sigmoid of seven straight pieces, for GPUs that have ``clamp`` but no cheap ``exp``.

    ``y = clip(0.05x + clip(0.1x, -0.05, 0.05) + clip(0.05x, -0.125, 0.125), -0.5, 0.5) + 0.5``

    Any input shape; output of the same shape, in [0, 1]. The slope is 0.2 for |x| < 0.5, 0.1 up to
    2.5, 0.05 up to 6.5 and 0 beyond (formula: docs/design.md, after the article's own repository).
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
class ChannelShuffle(keras.layers.Layer):  # type: ignore[misc]
    """Reorder the slices (groups of 4 channels) of a feature map; free on the GPU.

    With ``d = channels / 4`` slices, output slice ``i`` is input slice ``(step*i) mod d + (step*i) div d``.

    Args:
        step: distance, in slices, between neighbours of the output. ``d`` must be a multiple of it, or
            not exceed it (then the order stays as it is).

    Raises:
        ValueError: when the layer is built on channels for which that is no permutation.
    """

    def __init__(self, step: int = 8, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def build(self, input_shape: Any) -> None:
        """Work out the order of the channels from the input shape ``(batch, height, width, channels)``."""
        self._order = [4 * s + lane for s in shuffle_order(input_shape[-1], self.step) for lane in range(4)]
        super().build(input_shape)

    def call(self, inputs: Any) -> Any:
        """Reorder the last axis."""
        return ops.take(inputs, self._order, axis=-1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``input_shape``: only the order changes."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Return what a saved model needs to build the layer again."""
        return {**super().get_config(), "step": self.step}


@keras.saving.register_keras_serializable(package=PACKAGE)
class DepthToSpace(keras.layers.Layer):  # type: ignore[misc]
    """Spread the channels of each pixel over a block of pixels: ``(h, w, b*b*c)`` becomes ``(b*h, b*w, c)``.

    ``out[y*b + i, x*b + j, k] = in[y, x, (i*b + j)*c + k]``, as ``tf.nn.depth_to_space`` does for NHWC.

    Args:
        block_size: ``b``, by how much wider and higher the result is.

    Raises:
        ValueError: when the layer is called on channels that are no multiple of ``b*b``.
    """

    def __init__(self, block_size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.block_size = block_size

    def call(self, inputs: Any) -> Any:
        """Move the channels of ``(batch, height, width, channels)``."""
        _, height, width, _ = ops.shape(inputs)
        b, depth = self.block_size, self.compute_output_shape(inputs.shape)[-1]
        blocks = ops.reshape(inputs, (-1, height, width, b, b, depth))
        return ops.reshape(ops.transpose(blocks, (0, 1, 3, 2, 4, 5)), (-1, b * height, b * width, depth))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return ``(batch, b*height, b*width, channels / b**2)``."""
        batch, height, width, channels = input_shape
        b = self.block_size
        if b < 1 or channels % (b * b):
            raise ValueError(f"DepthToSpace({b}): {channels} channels are no multiple of {b}*{b}")
        return (batch, height and b * height, width and b * width, channels // (b * b))

    def get_config(self) -> dict[str, Any]:
        """Return what a saved model needs to build the layer again."""
        return {**super().get_config(), "block_size": self.block_size}
