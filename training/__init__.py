"""The Keras side of glsl-infer: layers, architectures, data, training. Needs ``glsl-infer[train]``."""

from glsl_infer.importers.keras_layers import ChannelShuffle, PiecewiseLinearSigmoid

__all__ = ["ChannelShuffle", "PiecewiseLinearSigmoid"]
