"""Training for glsl-infer: layers, architectures, data sets, recipes. Needs TensorFlow or JAX.

Keras is imported at the first use of a layer, so that recipes and data sets can be read without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glsl_infer.importers.keras.layers import ChannelShuffle, PiecewiseLinearSigmoid

__all__ = ["ChannelShuffle", "PiecewiseLinearSigmoid"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from glsl_infer.importers.keras import layers as keras_layers

    return getattr(keras_layers, name)
