"""Which input channels the weights of a grouped kernel meet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glsl_infer.support.ndarray import NDArray


def input_channels(kernel_shape: Sequence[int], groups: int) -> NDArray[np.int64]:
    """Return the input channel of each weight, (channels / groups, filters).

    Args:
        kernel_shape: its last two axes are (channels / groups, filters).
        groups: channels and filters are split into so many, evenly and in order.
    """
    channels, filters = kernel_shape[-2:]
    group = np.arange(filters) // (filters // groups)
    return group * channels + np.arange(channels)[:, None]
