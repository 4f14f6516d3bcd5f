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
    """Make blocks of pixels from blocks of channels (pixel shuffle), as ``tf.nn.depth_to_space`` does for NHWC.

    Pixel ``(y * b + i, x * b + j)`` of the output has the channels from ``(i * b + j) * c`` on of pixel ``(y, x)``,
    for ``b = block_size`` and ``c = channels / b**2``. Output shape: (batch, height * b, width * b, c).

    Args:
        block_size: height and width of a block, 1 or more.

    Raises:
        ValueError: ``block_size`` is less than 1, or the layer is built on channels that are no multiple of its square.
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
        """Split the last axis and move its parts beside rows and columns."""
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
        """Return what a saved model needs to build the layer again."""
        return {**super().get_config(), "block_size": self.block_size}
