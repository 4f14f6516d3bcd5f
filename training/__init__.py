"""The Keras side of glsl-infer: layers, architectures, data, training. Needs ``glsl-infer[train]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glsl_infer.importers.keras_layers import ChannelShuffle, PiecewiseLinearSigmoid

__all__ = ["ChannelShuffle", "PiecewiseLinearSigmoid"]


def __getattr__(name: str) -> Any:
    """Import Keras only when a layer is asked for: what draws on the GPU may not have TensorFlow in its process."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from glsl_infer.importers import keras_layers

    return getattr(keras_layers, name)
