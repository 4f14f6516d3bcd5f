"""The input of a converter: one call of a Keras layer, with its weights, its padding and checks of its options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cpu.kernel import axis_of
from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core.convolutions import Window, padded_window


@dataclass(frozen=True)
class Call:
    """One call of a Keras layer or operation.

    Attributes:
        layer: the layer or operation.
        name: a unique name for its node.
        inputs: names of its input nodes.
        shapes: their shapes, without the batch axis.
        arguments: arguments of the call: constants and Keras tensors.
        output: index of the required output.
        shape: Keras' shape of the output, without the batch axis.
    """

    layer: Any
    name: str
    inputs: tuple[str, ...]
    shapes: tuple[Shape, ...]
    arguments: tuple[Any, ...]
    output: int = 0
    shape: Shape = ()

    def refused(self, problem: str, advice: str) -> ModelError:
        """Return the error for an unsupported call: the problem and the advice."""
        return ModelError.layer(self.name, problem, advice)

    def node(self, op: str, attrs: dict[str, Any] | None = None, **weights: NDArray[np.float32]) -> Node:
        """Return the node for the call."""
        return Node(self.name, op, self.inputs, attrs or {}, weights)

    @property
    def operands(self) -> tuple[Any, ...]:
        """The operands of an operation on tensors and constants: its arguments, or the list that is its first."""
        first = self.arguments[0] if self.arguments else None
        return tuple(first) if isinstance(first, (list, tuple)) else self.arguments

    def axis(self, axis: Any) -> int:
        """Return an axis of the first input from Keras' count, in which the batch is axis 0."""
        rank = len(self.shapes[0])
        if isinstance(axis, (list, tuple)) and len(axis) == 1:
            (axis,) = axis
        if not isinstance(axis, int) or axis == 0 or axis == -rank - 1:
            raise self.refused(f"axis={axis}", "give one axis, not that of the batch")
        try:
            return axis_of(axis - 1 if axis > 0 else axis, rank)
        except ValueError as error:
            raise self.refused(str(error), "give an axis that it has") from None

    def axes(self, axes: Any) -> tuple[int, ...]:
        """Return several axes, as ``axis`` does."""
        if axes is None:
            raise self.refused("axis=None", "name the axes, without that of the batch")
        return tuple(map(self.axis, axes if isinstance(axes, (list, tuple)) else [axes]))

    def require_channels_last(self) -> None:
        """Refuse any data format except channels_last."""
        data_format = getattr(self.layer, "data_format", None)
        if data_format is None:
            from keras import config

            data_format = config.image_data_format()
        if data_format != "channels_last":
            raise self.refused(f"data_format='{data_format}'", "only 'channels_last' can be exported")

    def require_channel_axis(self) -> None:
        """Refuse any axis except the last."""
        if not self.is_channel_axis():
            raise self.refused(f"axis={self.layer.axis}", "only the last axis, the channels, can be exported")

    def is_channel_axis(self) -> bool:
        """Return whether the layer's only axis is the last."""
        axis = self.layer.axis
        axis = axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis
        return axis in (-1, len(self.shapes[0]))

    def window(self, size: Sequence[int]) -> Window:
        """Return the window of the layer over its first input. The default of its strides is its size."""
        layer, taps = self.layer, pair(size)
        strides = taps if layer.strides in (None, ()) else pair(layer.strides)
        window = Window(taps, strides, dilations=pair(getattr(layer, "dilation_rate", 1)))
        try:
            return padded_window(layer.padding, self.shapes[0], window)
        except ValueError as error:
            raise self.refused(str(error), "use 'same' or 'valid', or 'causal' on sequences") from None


def is_tensor(value: object) -> bool:
    """Return whether an argument is a tensor of the model, not a constant."""
    return hasattr(value, "_keras_history")


Converter = Callable[[Call], list[Node]]
"""Function from a call to its nodes. The first has the call's name; the last is its output."""


def pair(value: Any) -> tuple[int, int]:
    """Return (y, x) of an option that is one number or two in Keras."""
    first, second = value if isinstance(value, (list, tuple)) else (value, value)
    return int(first), int(second)


def array(variable: Any) -> NDArray[np.float32]:
    """Return the value of a Keras variable."""
    from keras import ops

    return np.ascontiguousarray(ops.convert_to_numpy(variable), np.float32)


def kernel(call: Call) -> NDArray[np.float32]:
    """Return a layer's kernel. A quantised kernel is refused, except that of a Dense in int8, which is dequantised."""
    mode = getattr(call.layer, "quantization_mode", None)
    if mode == "int8" and type(call.layer).__name__ == "Dense":
        return array(call.layer.kernel) / array(call.layer.kernel_scale)
    if mode is not None:
        raise call.refused(f"weights quantised to '{mode}'", "export the model from before it was quantised")
    return array(call.layer.kernel)


def bias(call: Call, outputs: int) -> NDArray[np.float32]:
    """Return a layer's bias, or zeros if it does not have one."""
    return array(call.layer.bias) if call.layer.use_bias else np.zeros(outputs, np.float32)


def per_channel(call: Call, value: Any, what: str) -> tuple[float, ...]:
    """Return a constant as one value, or one per channel of the first input."""
    if not isinstance(value, (int, float, list, tuple, np.ndarray)):
        value = array(value)  # only for tensors: a Python number would lose digits
    weights = np.asarray(value, np.float64)
    channels = call.shapes[0][-1]
    if weights.size not in (1, channels) or (weights.size > 1 and weights.shape[-1] != weights.size):
        raise call.refused(
            f"{what} of shape {weights.shape} on an input of {call.shapes[0]}", "give one number, or one a channel"
        )
    return tuple(weights.reshape(-1).tolist())
