"""Sums of maps whose reader is linear: it reads the terms instead, so the sum is not drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler.optimize.rewriting import Draft, rewrite_each
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.node import OBSERVED_RANGE
from glsl_infer.lowering.texture_choice import READS_16_BITS
from glsl_infer.ops.dense_at_once import MOST_INPUTS
from glsl_infer.program.layout import slices_of

MOST_WORK = 4e6
"""Largest number of additional instructions times pixels of a convolution that reads terms.

A Pi Zero takes 0.33 ms for them, and 0.46 ms for the job and the draw of a sum.
"""

PRODUCTS = 42.0
"""Instructions for the products of four input channels with four filters, and for their texels, with weights in a
texture (393 instead of 226 for 32 channels instead of 16). With weights in uniforms, they are about 20."""

MOST_CHANNELS = 4 * READS_16_BITS[16]
"""Largest number of channels of all terms, so that they still fit a draw of any precision."""


def average_terms(graph: Graph) -> Graph:
    """Average the terms of a sum instead of the sum, if a dense layer reads the means: it adds them."""
    return rewrite_each(graph, _average_terms)


def convolve_terms(graph: Graph) -> Graph:
    """Convolve the terms of a sum as channels of one map, if that takes less time than drawing the sum."""
    return rewrite_each(graph, _convolve_terms)


def _average_terms(draft: Draft, node: Node) -> None:
    """Replace a dense layer of the mean of a sum by one of the means of its terms, if all are read only here."""
    if not ops.get(node.op).has_kernel:
        return
    mean = draft.by_name[node.inputs[0]]
    if not ops.get(mean.op).averages or len(mean.inputs) > 1 or not draft.read_once(mean.name):
        return
    total = draft.by_name[mean.inputs[0]]
    if not _is_plain_sum(draft, total):
        return
    channels, count = draft.shapes[total.name][2], len(total.inputs)
    if channels % 2 or channels <= MOST_INPUTS < channels * count:
        return
    means = replace(mean, name=f"{mean.name}-terms", inputs=total.inputs, attrs=_without_history(mean))
    reader = replace(node, inputs=(means.name,), weights=_repeated(node, count))
    draft.put((total, mean, node), (means, reader), reader.name)


def _convolve_terms(draft: Draft, node: Node) -> None:
    """Replace a 1x1 convolution of a sum by one of the concatenated terms, if that is estimated to be faster."""
    if not ops.get(node.op).convolves or node.inputs.count(node.inputs[0]) > 1:
        return
    total = draft.by_name[node.inputs[0]]
    of_single_pixels = node.weights["kernel"].shape[:2] == (1, 1) and not any(node.attrs["padding"])
    if not _is_plain_sum(draft, total) or node.attrs["groups"] > 1 or not of_single_pixels:
        return
    (_, _, channels), (height, width, filters) = draft.shapes[total.name], draft.shapes[node.name]
    count = len(total.inputs)
    slices = slices_of(channels) * (count - 1) * slices_of(filters)
    if any(_is_gated(draft, draft.by_name[name]) for name in total.inputs):
        return
    if channels % 4 or channels * count > MOST_CHANNELS or PRODUCTS * slices * height * width > MOST_WORK:
        return
    terms = Node(f"{total.name}-terms", "concat", total.inputs)
    reader = replace(node, inputs=(terms.name, *node.inputs[1:]), weights=_repeated(node, count))
    draft.put((total, node), (terms, reader), reader.name)


def _is_plain_sum(draft: Draft, node: Node) -> bool:
    """Return whether a node is a sum of maps without an activation, and has one reader."""
    sums_maps = ops.get(node.op).adds and len(draft.shapes[node.name]) == 3
    return sums_maps and node.activation == LINEAR and draft.read_once(node.name)


def _is_gated(draft: Draft, node: Node) -> bool:
    """Return whether a node is a product that one draw computes together with the sum that reads it."""
    multiplies = ops.get(node.op).broadcasts and node.attrs.get("operation") == "multiply"
    return multiplies and node.activation == LINEAR and draft.read_once(node.name)


def _repeated(node: Node, count: int) -> dict[str, NDArray[np.float32]]:
    """Return weights with the same kernel for the channels of each of ``count`` terms."""
    return {**node.weights, "kernel": np.concatenate([node.weights["kernel"]] * count, axis=-2)}


def _without_history(node: Node) -> dict[str, object]:
    """Return the attributes of a node without those of the sum that it computed before."""
    return {key: value for key, value in node.attrs.items() if key not in (OBSERVED_RANGE, "fused")}
