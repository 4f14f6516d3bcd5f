"""EfficientNet-Lite0 as a graph, with weights named as in PyTorch.

M. Tan and Q. Le, "EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks", 2019. The Lite variants
have ReLU6 and no squeeze-and-excitation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.picture import with_picture_range
from glsl_infer.graph.purposes import CLASSES

SIZE = 224

_STAGES = (
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)  # fmt: skip
"""Blocks, size of the kernel, stride of the first block, expansion, channels; paper, table 1."""

_STEM, _EPSILON = 32, 1e-3
_SCALE, _ZERO = 255.0 / 128.0, 127.0
"""The network reads (byte - 127) / 128."""

Weights = Mapping[str, NDArray[Any]]


class _Builder:
    """Builder of the layers; each method returns the name of the last layer it added."""

    def __init__(self, weights: Weights, input_node: Node) -> None:
        self.nodes = [input_node]
        self._weights = weights
        self._sides = {input_node.name: SIZE}

    def weight(self, name: str) -> NDArray[np.float32]:
        """Return a weight by its name in PyTorch."""
        if name not in self._weights:
            raise InputError(f"the weights have no '{name}'; they are not those of EfficientNet-Lite0")
        return np.asarray(self._weights[name], np.float32)

    def convolution(
        self,
        name: str,
        source: str,
        kernel: str,
        norm: str,
        *,
        stride: int = 1,
        depthwise: bool = False,
        active: bool = True,
    ) -> str:
        """Add a convolution with 'same' padding, its batch normalisation, and a ReLU6 if ``active``."""
        weights = self.weight(f"{kernel}.weight").transpose(2, 3, 1, 0)
        size, filters = weights.shape[0], weights.shape[3]
        side = self._sides[source]
        out = -(-side // stride)
        padded = max((out - 1) * stride + size - side, 0)
        begin, end = padded // 2, padded - padded // 2
        attrs = {
            "strides": (stride, stride),
            "padding": (begin, end, begin, end),
            "groups": filters if depthwise else 1,
            "activation": "linear",
        }
        arrays = {"kernel": np.ascontiguousarray(weights), "bias": np.zeros(filters, np.float32)}
        self.nodes.append(Node(name, "conv2d", (source,), attrs, arrays))
        parts = {"gamma": "weight", "beta": "bias", "mean": "running_mean", "variance": "running_var"}
        statistics = {key: self.weight(f"{norm}.{statistic}") for key, statistic in parts.items()}
        self.nodes.append(Node(f"{name}-bn", "batch_norm", (name,), {"epsilon": _EPSILON}, statistics))
        if active:
            self.nodes.append(Node(f"{name}-act", "activation", (f"{name}-bn",), {"function": "relu(6)"}))
        self._sides[self.nodes[-1].name] = out
        return self.nodes[-1].name

    def block(self, index: int, source: str, kernel: int, stride: int, expansion: int, *, residual: bool) -> str:
        """Add an inverted residual block."""
        prefix, x = f"_blocks.{index}", source
        if expansion != 1:
            x = self.convolution(f"block{index}-expand", x, f"{prefix}._expand_conv", f"{prefix}._bn0")
        x = self.convolution(
            f"block{index}-depthwise", x, f"{prefix}._depthwise_conv", f"{prefix}._bn1", stride=stride, depthwise=True
        )
        x = self.convolution(f"block{index}-project", x, f"{prefix}._project_conv", f"{prefix}._bn2", active=False)
        if not residual:
            return x
        self.nodes.append(Node(f"block{index}-add", "add", (x, source), {"activation": "linear"}))
        self._sides[f"block{index}-add"] = self._sides[x]
        return f"block{index}-add"


def graph(weights: Weights, fit: str, name: str = "efficientnet-lite0") -> Graph:
    """Return the network from an image to 1,000 logits.

    Args:
        weights: by their names in PyTorch.
        fit: method of fitting images to the input.
        name: name of the graph.

    Raises:
        InputError: the weights are of another network.
    """
    picture = Node("image", "input", (), {"shape": (SIZE, SIZE, 3), "fit": fit})
    build = _Builder(weights, with_picture_range(picture, (_SCALE,), (_ZERO,)))
    x = build.convolution("stem", "image", "_conv_stem", "_bn0", stride=2)
    channels, block_index = _STEM, 0
    for blocks, kernel, first, expansion, out in _STAGES:
        for repeat in range(blocks):
            stride = first if repeat == 0 else 1
            x = build.block(block_index, x, kernel, stride, expansion, residual=stride == 1 and channels == out)
            channels, block_index = out, block_index + 1
    x = build.convolution("head", x, "_conv_head", "_bn1")
    build.nodes.append(Node("pool", "global_average_pool", (x,), {"scale": None}))
    dense = {"kernel": np.ascontiguousarray(build.weight("_fc.weight").T), "bias": build.weight("_fc.bias")}
    build.nodes.append(Node("classes", "dense", ("pool",), {"activation": "linear"}, dense))
    return Graph(name, tuple(build.nodes), (GraphOutput("classes", ("classes",), (), CLASSES),))
