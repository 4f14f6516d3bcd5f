"""Mean and max pooling by windows and along axes -> nodes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.tflite.call import Call, Converter

ROWS, COLUMNS, CHANNELS = 1, 2, 3
"""Axes of a map, counted with the batch."""

_ONCE = {"strides": (1, 1), "padding": (0, 0, 0, 0)}
_POOLS = {"AVERAGE_POOL_2D": "average_pool", "L2_POOL_2D": "l2_pool", "MAX_POOL_2D": "max_pool"}


def pool(call: Call) -> list[Node]:
    """Convert a pooling by a window. A mean of the entire map is a global pooling."""
    shape = call.feature_map()
    window = (call.option("FilterHeight"), call.option("FilterWidth"))
    strides = (call.option("StrideH"), call.option("StrideW"))
    if min(window) < 1:
        raise call.refused(f"a window of {window}", "the file is damaged; convert the model anew")
    padding = call.padding(window, strides)
    if call.kind == "AVERAGE_POOL_2D" and window == shape[:2] and not any(padding):
        return call.activated(_mean(call, shape))
    op = _POOLS[call.kind]
    attrs = {"pool": window, "strides": strides, "padding": padding}
    return call.activated([Node(call.name, op, call.inputs[:1], attrs)])


def average(call: Call) -> list[Node]:
    """Convert a mean or a sum over rows, columns, channels, or several of them."""
    shape, axes = call.feature_map(), _axes(call)
    total = call.kind == "SUM"
    chain = Chain(call)
    channels = shape[2]
    if CHANNELS in axes:
        pixels = math.prod(shape[axis - 1] for axis in axes if axis != CHANNELS)
        each = float(pixels) if total else 1.0 / channels
        weights = {"kernel": np.full((1, 1, channels, 1), each, np.float32), "bias": np.zeros(1, np.float32)}
        chain.add("channels", "conv2d", {**_ONCE, "groups": 1, "activation": "linear"}, weights)
        channels = 1
    elif total:
        factor = float(math.prod(shape[axis - 1] for axis in axes))
        chain.add("sum", "rescaling", {"scales": (factor,), "offsets": (0.0,)})
    if ROWS in axes and COLUMNS in axes:
        chain.add("mean", "global_average_pool", {"scale": None})
        if call.option("KeepDims", False):
            chain.add("map", "reshape", {"shape": (1, 1, channels)})
    elif ROWS in axes or COLUMNS in axes:
        chain.add("mean", "average_pool", {**_ONCE, "pool": (shape[0], 1) if ROWS in axes else (1, shape[1])})
    return chain.nodes


def extreme(call: Call) -> list[Node]:
    """Convert a maximum or minimum over rows, columns, channels, or several of them."""
    shape, axes = call.feature_map(), _axes(call)
    operation = "max" if call.kind == "REDUCE_MAX" else "min"
    chain = Chain(call)
    if ROWS in axes:
        chain.add("rows", f"{operation}_pool", {**_ONCE, "pool": (shape[0], 1)})
    if COLUMNS in axes:
        chain.add("columns", f"{operation}_pool", {**_ONCE, "pool": (1, shape[1])})
    if CHANNELS in axes:
        chain.add("channels", "channel_extreme", {"operation": operation})
    if not call.option("KeepDims", False):
        chain.add("vector", "flatten", {"scale": None})
    return chain.nodes


def _axes(call: Call) -> tuple[int, ...]:
    """Return the axes of a reduction, in order, counted with the batch."""
    rank = len(call.given)
    axes = tuple(sorted({axis % 4 if rank == 4 else axis for axis in call.integers(1, "axes")}))
    if rank != 4 or not axes or not {*axes} <= {ROWS, COLUMNS, CHANNELS}:
        raise call.refused(f"over axes {axes} of {call.given}", "rows, columns and channels, 1 to 3, can be reduced")
    if not call.option("KeepDims", False) and axes != (ROWS, COLUMNS):
        raise call.refused(f"over axes {axes} without keep_dims", "keep the axes, so that the result is a map")
    return axes


def normalized(call: Call) -> list[Node]:
    """Convert a LOCAL_RESPONSE_NORMALIZATION across channels."""
    call.feature_map()
    names = {"alpha": "Alpha", "beta": "Beta", "bias": "Bias"}
    attrs = {key: float(call.option(name)) for key, name in names.items()}
    return [call.node("local_response_norm", {**attrs, "size": 2 * call.option("Radius") + 1, "region": "across"})]


class Chain:
    """A chain of nodes, each of which reads the previous one. The first has the call's name."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.nodes: list[Node] = []

    def add(
        self, part: str, op: str, attrs: dict[str, Any], weights: dict[str, NDArray[np.float32]] | None = None
    ) -> None:
        """Append a node."""
        name = f"{self._call.name}-{part}" if self.nodes else self._call.name
        inputs = (self.nodes[-1].name,) if self.nodes else self._call.inputs[:1]
        self.nodes.append(Node(name, op, inputs, attrs, weights or {}))


def _mean(call: Call, shape: Shape) -> list[Node]:
    """Return the nodes of a mean over all pixels: a vector, reshaped to a 1x1 map."""
    mean = Node(call.name, "global_average_pool", call.inputs[:1], {"scale": None})
    return [mean, Node(f"{call.name}-map", "reshape", (call.name,), {"shape": (1, 1, shape[2])})]


CONVERTERS: dict[str, Converter] = {
    **dict.fromkeys(_POOLS, pool),
    "LOCAL_RESPONSE_NORMALIZATION": normalized,
    "MEAN": average,
    "REDUCE_MAX": extreme,
    "REDUCE_MIN": extreme,
    "SUM": average,
}
