"""Channel indices of grouped convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glsl_infer.support.ndarray import NDArray


def input_channels(kernel_shape: Sequence[int], groups: int) -> NDArray[np.int64]:
    """Return the input channel multiplied by each weight of a grouped kernel, (channels / groups, filters).

    Args:
        kernel_shape: its last two axes are (channels / groups, filters).
        groups: number of equal, consecutive groups of channels and of filters.
    """
    channels, filters = kernel_shape[-2:]
    group = np.arange(filters) // (filters // groups)
    return group * channels + np.arange(channels)[:, None]
