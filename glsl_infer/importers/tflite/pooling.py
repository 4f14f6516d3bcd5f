"""Operators that take the mean or the largest of several pixels -> nodes."""

from __future__ import annotations

import math

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.shared import pixels
from glsl_infer.importers.tflite.call import Call, Converter


def pool(call: Call) -> list[Node]:
    """Convert a pooling by a window; a mean of the whole map is a global one."""
    shape = call.feature_map()
    window = (call.option("FilterHeight"), call.option("FilterWidth"))
    strides = (call.option("StrideH"), call.option("StrideW"))
    if min(window) < 1:
        raise call.refused(f"a window of {window}", "the file is damaged; convert the model anew")
    padding = call.padding(window, strides)
    if call.kind == "AVERAGE_POOL_2D" and window == shape[:2] and not any(padding):
        return call.activated(_mean(call, shape))
    op = "max_pool" if call.kind == "MAX_POOL_2D" else "average_pool"
    attrs = {"pool": window, "strides": strides, "padding": padding}
    return call.activated([Node(call.name, op, call.inputs[:1], attrs)])


def reduce(call: Call) -> list[Node]:
    """Convert a mean, a sum or the largest value over rows and columns."""
    shape, axes = call.feature_map(), sorted(axis % 4 for axis in call.integers(1, "axes"))
    if axes != [1, 2]:
        raise call.refused(f"over axes {axes} of {(1, *shape)}", "rows and columns, [1, 2], can be reduced together")
    keeps = bool(call.option("KeepDims", False))
    if call.kind == "REDUCE_MAX":
        nodes = pixels.global_max_pool(call.name, call.inputs[0], shape)
        return nodes if keeps else [*nodes, _vector(call, nodes[-1].name, shape)]
    nodes = _mean(call, shape)[: 2 if keeps else 1]
    if call.kind == "SUM":
        scales = {"scales": (float(math.prod(shape[:2])),), "offsets": (0.0,)}
        nodes.append(Node(f"{call.name}-sum", "rescaling", (nodes[-1].name,), scales))
    return nodes


def _mean(call: Call, shape: Shape) -> list[Node]:
    """Return the nodes of a mean over all pixels: as a vector, then as a map of one pixel."""
    mean = Node(call.name, "global_average_pool", call.inputs[:1], {"scale": None})
    return [mean, Node(f"{call.name}-map", "reshape", (call.name,), {"shape": (1, 1, shape[2])})]


def _vector(call: Call, source: str, shape: Shape) -> Node:
    return Node(f"{call.name}-vector", "flatten", (source,), {"scale": None})


CONVERTERS: dict[str, Converter] = {
    "AVERAGE_POOL_2D": pool,
    "MAX_POOL_2D": pool,
    "MEAN": reduce,
    "REDUCE_MAX": reduce,
    "SUM": reduce,
}
