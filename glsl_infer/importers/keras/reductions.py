"""Converters of means, sums, extrema and their indices, deviations and norms along axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from glsl_infer.graph import Node
from glsl_infer.graph.activations import powers
from glsl_infer.importers.core import emit
from glsl_infer.importers.keras.activations import function_op
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.elementwise import chain_of


def reduction(kind: str, axes: Callable[[Any], Any] = lambda layer: layer.axis) -> Converter:
    """Return the converter of a reduction along axes."""

    def convert(call: Call) -> list[Node]:
        over, keep = call.axes(axes(call.layer)), bool(call.layer.keepdims)
        return emit.reduced(call.name, call.inputs[0], call.shapes[0], kind, over, keep=keep)

    return convert


def _spread(*, root: bool) -> Converter:
    """Return the converter of a variance, or of a standard deviation."""

    def convert(call: Call) -> list[Node]:
        over, keep, chain = call.axes(call.layer.axis), bool(call.layer.keepdims), chain_of(call)
        if sorted(over) == [0, 1] and len(call.shapes[0]) == 3:
            chain.add("global_deviation", part="deviation", scale=None)
            chain.shape = (call.shapes[0][2],)
            if not root:
                chain.function("square")
            if keep:
                chain.reshaped((1, 1, *chain.shape))
            return chain.nodes
        chain.add("tensor_reduce", reduction="mean", axes=over, keep=True)
        chain.add("tensor_binary", call.inputs[0], operation="squared_difference")
        chain.add("tensor_reduce", part="mean", reduction="mean", axes=over, keep=keep)
        if root:
            chain.add("tensor_function", function="sqrt")
        return chain.nodes

    return convert


def _log_sum_exp(call: Call) -> list[Node]:
    over, chain = call.axes(call.layer.axis), chain_of(call)
    largest = chain.add("tensor_reduce", reduction="max", axes=over, keep=True)
    differences = Node(f"{call.name}-apart", "tensor_binary", (call.inputs[0], largest), {"operation": "subtract"})
    chain.extend([differences])
    chain.add("tensor_function", part="exp", function="exponential")
    chain.add("tensor_reduce", part="sum", reduction="sum", axes=over, keep=True)
    chain.add("tensor_function", part="log", function="log")
    chain.add("tensor_binary", largest, part="result", operation="add")
    if not call.layer.keepdims:
        chain.add("tensor_reshape", part="shape", shape=call.shape)
    return chain.nodes


def _index(*, smallest: bool) -> Converter:
    """Return the converter of an argmax, or of an argmin."""

    def convert(call: Call) -> list[Node]:
        axis, rank = call.axis(call.layer.axis), len(call.shapes[0])
        if (rank, axis) == (3, 2) and call.layer.keepdims:
            return [call.node("channel_argmax", {"smallest": smallest})]
        if smallest:
            raise call.refused(
                f"an argmin over axis {call.layer.axis}", "use axis=-1, the channels, with keepdims=True"
            )
        nodes = [call.node("tensor_argmax", {"axis": axis})]
        if call.layer.keepdims:
            nodes.append(Node(f"{call.name}-kept", "tensor_reshape", (call.name,), {"shape": call.shape}))
        return nodes

    return convert


def _moments(call: Call) -> list[Node]:
    arguments = SimpleNamespace(axis=call.layer.axes, keepdims=call.layer.keepdims)
    return OPERATIONS["Var" if call.output else "Mean"](replace(call, layer=arguments))


def norm(call: Call) -> list[Node]:
    """Convert ``keras.ops.norm`` of all values along the axes. Matrix norms are refused."""
    order, axis = call.layer.ord, call.layer.axis
    several = axis is None or (isinstance(axis, (list, tuple)) and len(axis) > 1)
    orders = (None, "fro") if several else (None, "fro", 1, 2, float("inf"))
    if order not in orders or axis is None:
        raise call.refused(f"a norm with ord={order!r}, axis={axis}", "name the axes; of two of them, give no ord")
    function = powers.ABSOLUTE if order in (1, float("inf")) else powers.SQUARE
    values = call.node(function_op(call), {"function": function.text})
    arguments = SimpleNamespace(axis=axis, keepdims=call.layer.keepdims)
    reduce = OPERATIONS["Max" if order == float("inf") else "Sum"]
    nodes = [values, *reduce(replace(call, layer=arguments, name=f"{call.name}-sum", inputs=(call.name,)))]
    if function == powers.SQUARE:
        nodes.append(Node(f"{call.name}-root", function_op(call), (nodes[-1].name,), {"function": powers.SQRT.text}))
    return nodes


OPERATIONS: Mapping[str, Converter] = {
    "Amax": reduction("max"),
    "Amin": reduction("min"),
    "Argmax": _index(smallest=False),
    "Argmin": _index(smallest=True),
    "Max": reduction("max"),
    "Mean": reduction("mean"),
    "Min": reduction("min"),
    "Moments": _moments,
    "Norm": norm,
    "Std": _spread(root=True),
    "Sum": reduction("sum"),
    "Var": _spread(root=False),
}
"""Converters of operations with shaders, by class name."""

ON_CPU: Mapping[str, Converter] = {
    "All": reduction("min"),
    "Any": reduction("max"),
    "Logsumexp": _log_sum_exp,
    "Prod": reduction("product"),
}
"""Converters of other operations, by class name."""
