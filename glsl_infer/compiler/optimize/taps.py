"""Removal of kernel taps outside of the map for all output pixels, and of their padding."""

from __future__ import annotations

from dataclasses import replace

from glsl_infer import ops
from glsl_infer.graph import Graph, Node

Axis = tuple[range, int, int]
"""The remaining taps of one axis, and the padding before and after."""


def leave_out_idle_taps(graph: Graph) -> Graph:
    """Cut rows and columns off kernels whose taps are all in the padding, for all pixels of the output.

    Windows with large dilations have such taps. For example, a 3x3 window with a dilation of 18 on a map of 16x16
    covers the map only with its middle tap. It becomes a convolution of single pixels, without a gutter of 18 texels.
    """

    def reduced(node: Node) -> Node:
        if not ops.get(node.op).convolves:
            return node
        sizes, outputs = graph.shapes[node.inputs[0]], graph.shapes[node.name]
        kernel, (top, bottom, left, right) = node.weights["kernel"], node.attrs["padding"]
        strides, dilations = node.attrs["strides"], node.attrs["dilations"]
        rows, top, bottom = _met(sizes[0], outputs[0], kernel.shape[0], strides[0], dilations[0], (top, bottom))
        columns, left, right = _met(sizes[1], outputs[1], kernel.shape[1], strides[1], dilations[1], (left, right))
        if (len(rows), len(columns)) == kernel.shape[:2]:
            return node
        part = kernel[rows.start : rows.stop, columns.start : columns.stop]
        attrs = {**node.attrs, "padding": (top, bottom, left, right)}
        if part.shape[:2] == (1, 1):
            attrs["dilations"] = (1, 1)
        return replace(node, attrs=attrs, weights={**node.weights, "kernel": part})

    return graph.rebuilt([reduced(node) for node in graph.nodes])


def _met(size: int, output: int, taps: int, stride: int, dilation: int, padding: tuple[int, int]) -> Axis:
    """Return the taps of one axis to keep, and the padding. A tap is also kept if the padding would become negative.

    Args:
        size: pixels of the input.
        output: pixels of the output.
        taps: number of taps of the kernel.
        stride: pixels from window to window.
        dilation: pixels from tap to tap.
        padding: pixels of padding before and after.
    """
    before, after = padding
    first, last = 0, taps
    while last - first > 1 and dilation <= before and stride * (output - 1) < before:
        # The first tap of the last window is before the map.
        first, before = first + 1, before - dilation
    while last - first > 1 and dilation <= after and (last - first - 1) * dilation - before >= size:
        last, after = last - 1, after - dilation
    return range(first, last), before, after
