"""Means, sums and extrema of ``keras.ops`` over rows, columns or channels -> nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.graph.activations import powers
from glsl_infer.importers.keras.call import Call, Converter

ROWS, COLUMNS, CHANNELS = 1, 2, 3
MAP = (ROWS, COLUMNS)
"""Spatial axes of a batch of maps."""

_KEEP = "give keepdims=True, so that the result is a map"


def axes_of(call: Call) -> tuple[int, ...]:
    """Return the axes of a call on a feature map, in order, counted with the batch.

    Raises:
        ModelError: the input is not a feature map, or the batch is one of the axes.
    """
    rank, given = len(call.shapes[0]) + 1, call.layer.axis
    axes = [given] if isinstance(given, int) else list(given if given is not None else range(rank))
    counted = tuple(sorted({int(axis) % rank for axis in axes}))
    if rank != 4 or not counted or 0 in counted:
        raise call.refused(
            f"{type(call.layer).__name__} over the axes {given} of an input of {call.shapes[0]}",
            "rows, columns and channels of a feature map can be reduced: axis=1, 2, 3, or several of them",
        )
    return counted


def _require_shape(call: Call, axes: tuple[int, ...]) -> None:
    """Refuse results that are neither a map nor a vector."""
    if not call.layer.keepdims and axes != MAP:
        raise call.refused(f"{type(call.layer).__name__} over the axes {axes} without keepdims", _KEEP)


class _Chain:
    """A chain of nodes, each of which reads the previous one. The first has the call's name."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.nodes: list[Node] = []

    def add(self, part: str, op: str, attrs: dict[str, object], **weights: object) -> None:
        """Append a node."""
        first = not self.nodes
        name = self.call.name if first else f"{self.call.name}-{part}"
        inputs = self.call.inputs if first else (self.nodes[-1].name,)
        arrays = {key: np.asarray(value, np.float32) for key, value in weights.items()}
        self.nodes.append(Node(name, op, inputs, attrs, arrays))

    def end(self, shape: tuple[int, ...]) -> list[Node]:
        """Return the nodes. With keepdims, a vector becomes a 1x1 map."""
        if self.call.layer.keepdims:
            self.add("map", "reshape", {"shape": shape})
        return self.nodes


_ONCE = {"strides": (1, 1), "padding": (0, 0, 0, 0)}


def _average(*, total: bool) -> Converter:
    """Return the converter of a mean, or of a sum."""

    def convert(call: Call) -> list[Node]:
        axes = axes_of(call)
        _require_shape(call, axes)
        height, width, channels = call.shapes[0]
        sizes = dict(zip((ROWS, COLUMNS, CHANNELS), call.shapes[0]))
        factor = float(math.prod(sizes[axis] for axis in axes)) if total else 1.0
        chain = _Chain(call)
        if CHANNELS in axes:
            attrs = {**_ONCE, "groups": 1, "activation": "linear"}
            pixels = math.prod(sizes[axis] for axis in axes if axis != CHANNELS) if total else 1
            each = (channels if total else 1) * pixels / channels
            chain.add("channels", "conv2d", attrs, kernel=np.full((1, 1, channels, 1), each), bias=[0.0])
            channels = 1
        elif total:
            chain.add("sum", "rescaling", {"scales": (factor,), "offsets": (0.0,)})
        if ROWS in axes and COLUMNS in axes:
            chain.add("mean", "global_average_pool", {"scale": None})
            return chain.end((1, 1, channels))
        if ROWS in axes or COLUMNS in axes:
            pool = (height, 1) if ROWS in axes else (1, width)
            chain.add("mean", "average_pool", {**_ONCE, "pool": pool})
        return chain.nodes

    return convert


def _extreme(operation: str) -> Converter:
    """Return the converter of a maximum or a minimum."""

    def convert(call: Call) -> list[Node]:
        axes = axes_of(call)
        _require_shape(call, axes)
        height, width, _ = call.shapes[0]
        chain = _Chain(call)
        if ROWS in axes:
            chain.add("rows", f"{operation}_pool", {**_ONCE, "pool": (height, 1)})
        if COLUMNS in axes:
            chain.add("columns", f"{operation}_pool", {**_ONCE, "pool": (1, width)})
        if CHANNELS in axes:
            chain.add("channels", "channel_extreme", {"operation": operation})
        if not call.layer.keepdims:
            chain.add("vector", "flatten", {"scale": None})
        return chain.nodes

    return convert


def _spread(*, root: bool) -> Converter:
    """Return the converter of a standard deviation, or of a variance."""

    def convert(call: Call) -> list[Node]:
        axes = axes_of(call)
        if axes != MAP:
            raise call.refused(
                f"{type(call.layer).__name__} over the axes {axes}", "the rows and columns can be reduced: axis=(1, 2)"
            )
        chain = _Chain(call)
        chain.add("deviation", "global_deviation", {"scale": None})
        if not root:
            chain.add("variance", "activation", {"function": powers.SQUARE.text})
        return chain.end((1, 1, call.shapes[0][2]))

    return convert


def _argument(*, smallest: bool) -> Converter:
    """Return the converter of an argmax, or of an argmin."""

    def convert(call: Call) -> list[Node]:
        if axes_of(call) != (CHANNELS,):
            raise call.refused(f"{type(call.layer).__name__} over axis {call.layer.axis}", "use axis=-1, the channels")
        if not call.layer.keepdims:
            raise call.refused(f"{type(call.layer).__name__} without keepdims inside a network", _KEEP)
        return [call.node("channel_argmax", {"smallest": smallest})]

    return convert


def moments(reduced: Mapping[str, Converter]) -> Converter:
    """Return the converter of ``keras.ops.moments``, from those of a mean and of a variance."""

    def convert(call: Call) -> list[Node]:
        given = SimpleNamespace(axis=call.layer.axes, keepdims=call.layer.keepdims)
        return reduced["Var" if call.output else "Mean"](replace(call, layer=given))

    return convert


_REDUCED: Mapping[str, Callable[[Call], list[Node]]] = {
    "Amax": _extreme("max"),
    "Amin": _extreme("min"),
    "Argmax": _argument(smallest=False),
    "Argmin": _argument(smallest=True),
    "Max": _extreme("max"),
    "Mean": _average(total=False),
    "Min": _extreme("min"),
    "Std": _spread(root=True),
    "Sum": _average(total=True),
    "Var": _spread(root=False),
}

OPERATIONS: Mapping[str, Converter] = {**_REDUCED, "Moments": moments(_REDUCED)}
"""Converters by class name."""
