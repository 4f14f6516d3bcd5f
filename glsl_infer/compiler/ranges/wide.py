"""Splitting of convolutions beyond the limits of a pass, into partial sums in 16 bits.

A pass reads at most 8 textures. In atlas layout these contain any number of slices, so nearly every convolution is one
pass for each output slice. In planar layout each slice is a texture. A convolution is split into
``convolution_products``, which stores a partial sum for every block of slices, and ``convolution_sum``, which adds the
sums, the bias and the residual, and applies the activation, if

* its input and its residual are in more than 8 textures, or
* it has more columns of weights than a uniform array and a text of constants can hold (``weights_plan.MOST_BAKED``), or
* it reads 16 bits and its columns take more operations than the format allows in a shader, or
* it has more columns than a uniform array can hold, and constants would cost much more than partial sums: a long
  program for each output slice, which the device compiles at every start. Some of these cases are only detected when
  weight textures are planned (``compiler.long_texts``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.bundle.format_constants import GLSL_LIMITS
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.ranges.intervals import bounds_of, ranges_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.kernels import input_channels
from glsl_infer.graph.picture import has_alpha_lane
from glsl_infer.lowering import weight_bytes, weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.lowering.conv_columns import Columns, columns_of
from glsl_infer.lowering.conv_draws import MOST_COORDINATES
from glsl_infer.lowering.product_blocks import block_kernels
from glsl_infer.lowering.target import Target
from glsl_infer.lowering.weights_plan import MOST_BAKED
from glsl_infer.ops.operator import Bounds, ViewOperator
from glsl_infer.program import WeightsChoice, quantize
from glsl_infer.program.layout import clear_colours
from glsl_infer.program.placement import textures as placed_in

OPERATIONS_16_BITS = 8.6
"""Operations of a column of weights on a map of 16 bits, as readers count them: 34 for the four of a texel."""


Parts = dict[tuple[object, ...], tuple[Node, Node, Node]]
"""Cache of split convolutions: products, sum and original node, by everything that they depend on.

It holds copies of many weights.
"""


@dataclass(frozen=True)
class WideLayer:
    """Cost of a wide convolution; one line of the export report.

    Attributes:
        layer: name of the convolution.
        slices: number of input slices for an output slice.
        blocks: partial sums of each output.
        passes: number of passes. A narrow convolution would have one for each output slice.
        reason: why it was split.
    """

    layer: str
    slices: int
    blocks: int
    passes: int
    reason: str = ""


def split_wide(
    graph: Graph,
    target: Target | None = None,
    known: Mapping[str, str] = MappingProxyType({}),
    before: Parts | None = None,
) -> tuple[Graph, tuple[WideLayer, ...]]:
    """Split every convolution with too many inputs or weights for a pass, or with a lower cost as partial sums.

    Args:
        graph: a graph with ranges, and dense layers split.
        target: the layout and the limits of the program; default: ``Target()``.
        known: reasons to split certain convolutions in any case, by name.
        before: cache of split convolutions, for graphs with other differences; it is updated.
    """
    target, before = target or Target(), {} if before is None else before
    uniform_vectors = target.uniform_vectors
    bounds: dict[str, Bounds] | None = None
    textures: dict[str, frozenset[str]] | None = None
    nodes: list[Node] = []
    layers: list[WideLayer] = []
    for node in graph.nodes:
        if not ops.get(node.op).convolves:
            nodes.append(node)
            continue
        columns = columns_of(node.weights["kernel"].shape, node.attrs["groups"])
        reason = known.get(node.name, "") or _too_many_operations(graph, node, columns)
        if not reason and columns.slots + len(node.inputs) - 1 <= MAX_TEXTURES and columns.count <= uniform_vectors:
            nodes.append(node)  # each slice can have a texture of its own
            continue
        textures = textures_of_maps(graph, target.layout) if textures is None else textures
        bound = min(columns.slots, len(textures[node.inputs[0]]))
        block = _block(columns, bound, uniform_vectors)
        bound += len(node.inputs) - 1
        reason = reason or _why_split(graph, node, columns, bound, block, target)
        if not reason:
            nodes.append(node)
            continue
        bounds = bounds_of(graph) if bounds is None else bounds
        read = bounds[node.inputs[0]]
        weights = [id(node.weights[name]) for name in ("kernel", "bias")]
        key = (node.name, block, *weights, repr((node.inputs, node.attrs)), *(end.tobytes() for end in read))
        if key not in before:
            before[key] = (*_split(node, read, block), node)
        products, total, _ = before[key]
        nodes += [products, total]
        blocks = -(-columns.slots // block)
        passes = (2 * blocks + 1) * columns.slices
        layers.append(WideLayer(node.name, columns.slots, blocks, passes, reason))
    return graph.rebuilt(nodes), tuple(layers)


def _too_many_operations(graph: Graph, node: Node, columns: Columns) -> str:
    """Return why a convolution of a 16-bit map has too many operations for a shader; empty if it has not."""
    most = int(GLSL_LIMITS["written"] / OPERATIONS_16_BITS)
    if columns.count <= most or ranges_of(graph)[node.inputs[0]].bits == 8:
        return ""
    return f"{columns.count} columns of weights on a map of 16 bits; a shader of the format has {most}"


def _why_split(graph: Graph, node: Node, columns: Columns, bound: int, block: int, target: Target) -> str:
    """Return why a convolution is split, as a text for the user; empty if it is not."""
    if bound > MAX_TEXTURES:
        return f"it reads {bound} textures, and a pass at most {MAX_TEXTURES}"
    uniform_vectors = target.uniform_vectors
    if columns.count + 2 <= uniform_vectors:
        return ""
    if columns.count > MOST_BAKED:
        return (
            f"{columns.count} columns of weights; a uniform array holds {uniform_vectors - 2}, a text of constants "
            f"{MOST_BAKED}"
        )
    if columns.slots <= MOST_COORDINATES:
        return ""
    height, width, _ = graph.shapes[node.name]
    layer = weights_plan.LayerWeights(
        node.name, columns.slices, height * width, columns.count, columns.count + 2, bits=8
    )
    modes = weights_plan.costs(layer, uniform_vectors)
    if columns.count > weight_bytes.most_columns(columns.taps_per_slot):
        del modes["texture"]
    sums = _cost_of_sums(layer, -(-columns.slots // block), uniform_vectors)
    if min(modes.values()) <= target.exactness * sums:
        return ""
    return (
        f"{columns.count} columns of weights are more than a uniform array of {uniform_vectors} vec4 holds, and as "
        "constants they would cost more than partial sums"
    )


def cost_of_sums(choice: WeightsChoice, columns: Columns, uniform_vectors: int) -> float:
    """Return the microseconds per frame of partial sums for a layer whose weights are constants in shader source."""
    vectors = choice.columns + 2
    layer = weights_plan.LayerWeights(choice.layer, choice.slices, choice.pixels, choice.columns, vectors, bits=8)
    block = _block(columns, min(columns.slots, MAX_TEXTURES), uniform_vectors)
    return _cost_of_sums(layer, -(-columns.slots // block), uniform_vectors)


def _cost_of_sums(layer: weights_plan.LayerWeights, blocks: int, uniform_vectors: int) -> float:
    columns = -(-layer.columns // blocks) // 2
    halves = replace(layer, slices=2 * blocks * layer.slices, columns=columns, vectors=columns)
    products = weights_plan.costs(halves, uniform_vectors)["baked" if columns > uniform_vectors else "uniform"]
    last = replace(layer, columns=2 * blocks, vectors=2 * blocks)
    return products + weights_plan.costs(last, uniform_vectors)["uniform"]


def _block(columns: Columns, textures: int, uniform_vectors: int) -> int:
    """Return the number of slots of each partial sum.

    Two weights of four lanes are two vec4 for each tap and slice. A uniform array should hold all of a block.
    """
    most = columns.slots if textures <= MAX_TEXTURES else MAX_TEXTURES
    longest = min((uniform_vectors - 1) // 2, MOST_BAKED // 4)
    return max(1, min(most, longest // columns.taps_per_slot))


def textures_of_maps(graph: Graph, layout: str) -> dict[str, frozenset[str]]:
    """Return the textures of the slices of each 8-bit feature map, as distinct names."""
    around, ranges = gutters(graph), ranges_of(graph)
    textures: dict[str, frozenset[str]] = {}
    for node in graph.nodes:
        shape = graph.shapes[node.name]
        if isinstance(ops.get(node.op), ViewOperator):
            textures[node.name] = frozenset().union(*(textures[name] for name in node.inputs))
        elif has_alpha_lane(node) or node.name not in ranges or len(shape) != 3:
            textures[node.name] = frozenset([node.name])
        else:
            height, width, channels = shape
            gutter = around[node.name]
            colours = clear_colours(ranges[node.name].zeros if gutter else (0.0,), channels)
            names: list[str] = []
            for index, members in enumerate(Counter(colours).values()):
                own_layout = "atlas" if node.operator.is_input else layout
                tall = height if ranges[node.name].bits == 8 else 2 * height + gutter
                names += placed_in(f"{node.name}.{index}", tall, width, members, gutter, own_layout)
            textures[node.name] = frozenset(names)
    return textures


def _split(node: Node, read: Bounds, block: int) -> tuple[Node, Node]:
    """Return the products and the sum of a wide convolution, from the bounds of its input and the slots of a block."""
    kernel = node.weights["kernel"]
    attrs = {key: node.attrs[key] for key in ("strides", "padding", "groups", "dilations")}
    unit = _units(kernel, node.attrs["groups"], block, read)
    products = Node(
        f"{node.name}-products",
        "convolution_products",
        node.inputs[:1],
        {**attrs, "block": block},
        {"kernel": (kernel.astype(np.float64) / unit).astype(np.float32)},
    )
    attributes = {
        key: value for key, value in node.attrs.items() if key in ("activation", "scales", "zeros", "bits", "fused")
    }
    blocks = -(-columns_of(kernel.shape, node.attrs["groups"]).slots // block)
    weights = {"unit": unit.astype(np.float32), "bias": node.weights["bias"]}
    total = Node(
        node.name, "convolution_sum", (products.name, *node.inputs[1:]), {**attributes, "blocks": blocks}, weights
    )
    return products, total


def _units(kernel: NDArray[np.float32], groups: int, block: int, bounds: Bounds) -> NDArray[np.float64]:
    """Return a power of two for every filter, so that its partial sums use all 16 bits, (filters,)."""
    low, high = bounds
    largest = np.zeros(kernel.shape[3])
    for block_kernel, read in block_kernels(kernel, groups, block):
        channel = input_channels(block_kernel.shape, groups)
        ends = np.stack(
            [block_kernel * np.minimum(low, 0.0)[read][channel], block_kernel * np.maximum(high, 0.0)[read][channel]]
        )
        lowest, highest = ends.min(axis=0).sum(axis=(0, 1, 2)), ends.max(axis=0).sum(axis=(0, 1, 2))
        largest = np.maximum(largest, np.maximum(-lowest, highest))
    return np.array([quantize.power_of_two_scale(float(bound)) for bound in largest])
