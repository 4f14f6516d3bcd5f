"""Batch normalisation at inference: a scale and an offset for each channel, which the optimiser folds away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import GraphOnlyOperator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.ops.traits import Affine


class BatchNorm(GraphOnlyOperator):
    """Weights ``gamma``, ``beta``, ``mean``, ``variance`` of shape (channels,); attribute ``epsilon``."""

    attrs = {"epsilon": 1e-3}
    weights = ("gamma", "beta", "mean", "variance")
    advice = "batch normalisation is supported after a convolution or a dense layer, or on a feature map"
    elementwise = True
    local = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape; the last axis must match the weights."""
        for name in self.weights:
            if node.weights[name].shape != inputs[0][-1:]:
                raise ModelError.layer(
                    node.name,
                    f"{name} of shape {node.weights[name].shape} on an input of {inputs[0]}",
                    "check the weights",
                )
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute ``gamma * (x - mean) / sqrt(variance + epsilon) + beta``."""
        scale, offset = scale_and_offset(node)
        return inputs[0] * scale.astype(inputs[0].dtype) + offset.astype(inputs[0].dtype)

    def affine(self, node: Node) -> Affine:
        """Return scale and offset of the statistics and weights."""
        return scale_and_offset(node)

    def normal(self, node: Node) -> Affine:
        """Return mean and standard deviation of the normalised channels."""
        gamma, beta, variance = (node.weights[name].astype(np.float64) for name in ("gamma", "beta", "variance"))
        return beta, np.abs(gamma) * np.sqrt(variance / (variance + node.attrs["epsilon"]))


def scale_and_offset(node: Node) -> Affine:
    """Return float64 (scale, offset), (channels,) each: the output is ``x * scale + offset``."""
    weights = {name: node.weights[name].astype(np.float64) for name in BatchNorm.weights}
    scale = weights["gamma"] / np.sqrt(weights["variance"] + node.attrs["epsilon"])
    return scale, weights["beta"] - weights["mean"] * scale


OPERATOR = BatchNorm()
