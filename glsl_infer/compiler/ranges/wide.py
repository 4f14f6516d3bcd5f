"""Graph -> graph: what a convolution cannot read in one pass is added up from partial sums in 16 bits.

A pass reads at most 8 slices. A convolution whose output slices read more becomes ``convolution_products``,
which stores a partial sum for every block of slices, and ``convolution_sum``, which adds them up, and the bias, the
residual and the activation with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glsl_infer.compiler.ranges.eight_bits import bounds_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.kernels import input_channels
from glsl_infer.lowering.conv_columns import columns_of
from glsl_infer.lowering.weights_plan import UNIFORM_VECTORS
from glsl_infer.ops.convolution_products import block_kernels
from glsl_infer.ops.operator import Bounds
from glsl_infer.program import quantize

MAX_SLICES = 8
"""Most slices an output slice reads in one pass: ES 2.0 promises 8 textures, and planar layout uses one each."""


@dataclass(frozen=True)
class WideLayer:
    """What a wide convolution costs; one line of the export report.

    Attributes:
        slices: input slices that an output slice reads.
        blocks: partial sums of each output.
        passes: passes in all, where a narrow convolution would have one for each output slice.
    """

    layer: str
    slices: int
    blocks: int
    passes: int


def split_wide(graph: Graph, layout: str = "atlas") -> tuple[Graph, tuple[WideLayer, ...]]:
    """Split every convolution that reads too many slices.

    Args:
        graph: with ranges, and dense layers split.
        layout: in ``planar`` a residual takes one of the 8 textures.
    """
    bounds: dict[str, Bounds] | None = None
    nodes: list[Node] = []
    layers: list[WideLayer] = []
    for node in graph.nodes:
        if node.op != "conv2d":
            nodes.append(node)
            continue
        slots = columns_of(node.weights["kernel"].shape, node.attrs["groups"]).slots
        residuals = len(node.inputs) - 1 if layout == "planar" else 0
        if slots + residuals <= MAX_SLICES:
            nodes.append(node)
            continue
        bounds = bounds_of(graph) if bounds is None else bounds
        products, total = _split(node, bounds)
        nodes += [products, total]
        slices = -(-node.weights["kernel"].shape[3] // 4)
        blocks = -(-slots // products.attrs["block"])
        layers.append(WideLayer(node.name, slots, blocks, 2 * blocks * slices + slices))
    return graph.rebuilt(nodes), tuple(layers)


def _split(node: Node, bounds: Mapping[str, Bounds]) -> tuple[Node, Node]:
    kernel = node.weights["kernel"]
    taps = kernel.shape[0] * kernel.shape[1]
    # Two weights of four lanes are two vec4 a tap and slice; a uniform array should hold all of a block.
    block = max(1, min(MAX_SLICES, UNIFORM_VECTORS // (2 * taps)))
    attrs = {key: node.attrs[key] for key in ("strides", "padding", "groups")}
    unit = _units(kernel, node.attrs["groups"], block, bounds[node.inputs[0]])
    products = Node(
        f"{node.name}-products",
        "convolution_products",
        node.inputs[:1],
        {**attrs, "block": block},
        {"kernel": (kernel.astype(np.float64) / unit).astype(np.float32)},
    )
    rest = {key: value for key, value in node.attrs.items() if key in ("activation", "scales", "zeros", "fused")}
    blocks = -(-columns_of(kernel.shape, node.attrs["groups"]).slots // block)
    weights = {"unit": unit.astype(np.float32), "bias": node.weights["bias"]}
    total = Node(node.name, "convolution_sum", (products.name, *node.inputs[1:]), {**rest, "blocks": blocks}, weights)
    return products, total


def _units(kernel: NDArray[np.float32], groups: int, block: int, bounds: Bounds) -> NDArray[np.float64]:
    """Return a power of two for every filter, so that its partial sums use all 16 bits, (filters,)."""
    low, high = bounds
    channel = input_channels(kernel.shape, groups)
    largest = np.zeros(kernel.shape[3])
    for one in block_kernels(kernel, groups, block):
        ends = np.stack([one * np.minimum(low, 0.0)[channel], one * np.maximum(high, 0.0)[channel]])
        lowest, highest = ends.min(axis=0).sum(axis=(0, 1, 2)), ends.max(axis=0).sum(axis=(0, 1, 2))
        largest = np.maximum(largest, np.maximum(-lowest, highest))
    return np.array([quantize.power_of_two_scale(float(one)) for one in largest])
