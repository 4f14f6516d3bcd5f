"""Keras variables and constants as NumPy arrays and Python numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.importers.keras.call import Call


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
    numbers = np.asarray(value, np.float64)
    channels = call.shapes[0][-1]
    if numbers.size not in (1, channels) or (numbers.size > 1 and numbers.shape[-1] != numbers.size):
        raise call.refused(
            f"{what} of shape {numbers.shape} on an input of {call.shapes[0]}", "give one number, or one a channel"
        )
    return tuple(numbers.reshape(-1).tolist())
