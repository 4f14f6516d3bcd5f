"""Local response normalisation, as in AlexNet and GoogLeNet: across channels, or within each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.graph.activations import powers
from glsl_infer.ops.operator import GraphOnlyOperator, feature_map

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Shape

REGIONS = ("across", "within")


class LocalResponseNorm(GraphOnlyOperator):
    """``x / (bias + alpha * s) ** beta``, with s the sum of the squares of the ``size`` nearest elements.

    Attributes: ``size``, odd; ``alpha``, for each square (Caffe's divided by the number of squares); ``beta``, up to 2;
    ``bias``, above 0; ``region``: ``across`` neighbouring channels, or ``within`` a channel, in a window of ``size`` x
    ``size`` pixels. Elements outside the map are 0.
    """

    attrs = {"size": 5, "alpha": 1.0, "beta": 0.5, "bias": 1.0, "region": "across"}
    advice = "run glsl_infer.compiler.optimize.optimize on the graph"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        size, alpha, beta, bias = (node.attrs[key] for key in ("size", "alpha", "beta", "bias"))
        if size < 1 or size % 2 == 0 or alpha < 0 or bias <= 0 or not 0 < beta <= 2 or not self._has_valid_region(node):
            raise ModelError.layer(
                node.name,
                f"size={size}, alpha={alpha:g}, beta={beta:g}, bias={bias:g}, region='{node.attrs['region']}'",
                "give an odd size, an alpha of 0 or more, a beta from 0 to 2, a bias above 0, and 'across' or 'within'",
            )
        return feature_map(node, inputs[0])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the formula with the sums of neighbouring squares."""
        x, half = inputs[0], node.attrs["size"] // 2
        padding = [(0, 0), (0, 0), (half, half)] if self._across(node) else [(half, half), (half, half), (0, 0)]
        padded = np.pad(np.square(x), padding)
        axes = (2,) if self._across(node) else (0, 1)
        squares_in_window = np.lib.stride_tricks.sliding_window_view(
            padded, (node.attrs["size"],) * len(axes), axis=axes
        )
        sums = squares_in_window.sum(axis=tuple(range(3, squares_in_window.ndim)))
        y: Array = x / (node.attrs["bias"] + node.attrs["alpha"] * sums) ** node.attrs["beta"]
        return y.astype(x.dtype)

    def parts(self, node: Node, shapes: Sequence[Shape]) -> tuple[Node, ...]:
        """Return squares, a convolution that adds them and computes the power, and a product."""
        channels, size, alpha = shapes[0][2], node.attrs["size"], node.attrs["alpha"]
        half = size // 2
        if self._across(node):
            distance = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels)))
            kernel, padding = alpha * (distance <= half)[None, None], (0, 0, 0, 0)
        else:
            kernel, padding = np.full((size, size, 1, channels), alpha), (half,) * 4
        attrs = {
            "strides": (1, 1),
            "padding": padding,
            "groups": 1 if self._across(node) else channels,
            "activation": powers.power(-node.attrs["beta"]).text,
        }
        weights = {"kernel": kernel, "bias": np.full(channels, node.attrs["bias"])}
        squares, factor = f"{node.name}-squares", f"{node.name}-factor"
        return (
            Node(squares, "activation", node.inputs, {"function": powers.SQUARE.text}),
            Node(factor, "conv2d", (squares,), attrs, {name: w.astype(np.float32) for name, w in weights.items()}),
            Node(node.name, "binary", (*node.inputs, factor), {"operation": "multiply"}),
        )

    def _across(self, node: Node) -> bool:
        return bool(node.attrs["region"] == "across")

    def _has_valid_region(self, node: Node) -> bool:
        return node.attrs["region"] in REGIONS


OPERATOR = LocalResponseNorm()
