"""Converters of elementwise Keras layers and operations on tensors of any rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import with_article
from glsl_infer.graph import Node
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.core.constants import with_constant
from glsl_infer.importers.core.emit import Chain, from_left
from glsl_infer.importers.keras.call import Call, Converter, array, is_tensor, per_channel


def chain_of(call: Call) -> Chain:
    """Return a chain of nodes that begins at the first input of a call."""
    return Chain(call.name, call.inputs[0], call.shapes[0])


def binary(operation: str) -> Converter:
    """Return the converter of an operation on tensors from left to right, or on a tensor and a constant."""

    def convert(call: Call) -> list[Node]:
        values = call.operands
        constants = [value for value in values if not is_tensor(value)]
        count = len(values) if len(call.inputs) == 1 else 1  # an operation on a tensor and itself
        if not constants and len(call.inputs) * count > 1:
            return from_left(call.name, operation, call.inputs * count, call.shapes * count)
        if len(call.inputs) != 1 or len(values) != 2 or len(constants) != 1 or constants[0] is None:
            raise call.refused(f"{with_article(type(call.layer).__name__)} of {len(values)} values", "give it two")
        first = not is_tensor(values[0])
        value = np.asarray(constants[0] if isinstance(constants[0], (int, float)) else array(constants[0]))
        try:
            return with_constant(call.name, call.inputs[0], call.shapes[0], operation, value, first=first)
        except ValueError:
            per_channel(call, constants[0], "a constant")  # raises for a wrong shape
            raise call.refused(f"a constant of shape {value.shape}", "give it no batch") from None

    return convert


def average(call: Call) -> list[Node]:
    """Convert a mean of several tensors, or of a tensor and a constant: their sum divided by their number."""
    chain = chain_of(call)
    chain.extend(binary("add")(call))
    chain.shape = np.broadcast_shapes(*call.shapes)
    return by(chain, "multiply", 1.0 / len(call.operands))


def by(chain: Chain, operation: str, number: Any) -> list[Node]:
    """Append an operation with a constant to a chain; return its nodes."""
    chain.extend(with_constant(chain.free(operation), chain.last, chain.shape, operation, np.asarray(number)))
    return chain.nodes


def _steps(*steps: tuple[str, float] | str) -> Converter:
    """Return the converter of a sequence of functions and of operations with a scalar."""

    def convert(call: Call) -> list[Node]:
        chain = chain_of(call)
        for step in steps:
            chain.function(step) if isinstance(step, str) else by(chain, *step)
        return chain.nodes

    return convert


def _round(call: Call) -> list[Node]:
    scale, chain = {"constant": [10.0 ** int(call.layer.decimals)]}, chain_of(call)
    if call.layer.decimals:
        chain.add("tensor_binary", part="scaled", weights=scale, operation="multiply")
    chain.add("tensor_unary", operation="round")
    if call.layer.decimals:
        chain.add("tensor_binary", part="back", weights=scale, operation="divide")
    return chain.nodes


def _where(call: Call) -> list[Node]:
    values = call.arguments
    if len(values) != 3 or any(value is None for value in values):
        raise call.refused("a where of a condition alone", "give it three values: condition, x1, x2")
    weights, reads, left = {}, [], list(call.inputs)
    names: dict[int, str] = {}
    for key, value in zip(("condition", "yes", "no"), values):
        if not is_tensor(value):
            weights[key] = _constant(call, value)
            continue
        if id(value) not in names:
            names[id(value)] = left.pop(0)
        reads.append(names[id(value)])
    return [Node(call.name, "select", tuple(reads), {}, weights)]


def _constant(call: Call, value: Any) -> NDArray[np.float32]:
    """Return a constant without a batch axis, to broadcast with inputs without one."""
    constant: NDArray[np.float32] = np.asarray(array(value), np.float32)
    if constant.ndim > max(map(len, call.shapes)):
        if constant.shape[0] != 1:
            raise call.refused(f"a constant of shape {constant.shape}", "give it no batch")
        constant = constant[0]
    return constant


def cast(call: Call) -> list[Node]:
    """Convert a cast. Values in a network are floats, so a cast to integers truncates, and a Boolean is 1 or 0."""
    kind = str(call.layer.dtype)
    if "float" in kind:
        return [call.node("identity")]
    if kind == "bool":
        return by(chain_of(call), "not_equal", 0.0)
    if kind in ("int16", "int32", "int64"):
        return [call.node("tensor_unary", {"operation": "truncate"})]
    raise call.refused(f"a cast to {kind}", "cast to float32, int32 or bool")


def rescaled(call: Call, axis: Any, factor: NDArray[np.float64], added: NDArray[np.float64]) -> list[Node]:
    """Return the nodes of ``x * factor + added``, both constants along an axis in Keras' count.

    Raises:
        ModelError: the axis is the batch axis, or does not exist.
    """
    over, rank, chain = call.axis(axis), len(call.shapes[0]), chain_of(call)
    if over == rank - 1 or factor.size == 1:
        attrs = {"scales": tuple(factor.tolist()), "offsets": tuple(added.tolist())}
        return [call.node("rescaling", attrs)]
    shape = [-1 if index == over else 1 for index in range(rank)]
    by(chain, "multiply", factor.reshape(shape))
    return by(chain, "add", added.reshape(shape))


def log_softmax(name: str, source: str, axis: int) -> list[Node]:
    """Return the nodes of the logarithm of a softmax, from differences, so that small probabilities are accurate."""
    less, over = {"operation": "subtract"}, {"axes": (axis,), "keep": True}
    return [
        Node(name, "tensor_reduce", (source,), {"reduction": "max", **over}),
        Node(f"{name}-apart", "tensor_binary", (source, name), dict(less)),
        Node(f"{name}-exp", "tensor_function", (f"{name}-apart",), {"function": "exponential"}),
        Node(f"{name}-sum", "tensor_reduce", (f"{name}-exp",), {"reduction": "sum", **over}),
        Node(f"{name}-log", "tensor_function", (f"{name}-sum",), {"function": "log"}),
        Node(f"{name}-result", "tensor_binary", (f"{name}-apart", f"{name}-log"), dict(less)),
    ]


def _function(operation: str) -> Converter:
    return lambda call: [call.node("tensor_unary", {"operation": operation})]


LAYERS: Mapping[str, Converter] = {
    **{kind: binary(kind.lower()) for kind in ("Add", "Maximum", "Minimum", "Multiply", "Subtract")},
    "Average": average,
}
"""Converters of layers by class name."""

OPERATIONS: Mapping[str, Converter] = {
    **{kind: binary(operation) for kind, operation in elementwise.operations(elementwise.KERAS).items()},
    "Cast": cast,
    "Expm1": _steps("exponential", ("subtract", 1.0)),
    "Log1p": _steps(("add", 1.0), "log"),
    "Negative": _steps(("multiply", -1.0)),
}
"""Converters of operations with shaders, by class name."""

ON_CPU: Mapping[str, Converter] = {
    **{kind: _function(operation) for kind, operation in elementwise.functions(elementwise.KERAS).items()},
    "Exp2": _steps(("multiply", float(np.log(2.0))), "exponential"),
    "Log10": _steps("log", ("divide", float(np.log(10.0)))),
    "Log2": _steps("log", ("divide", float(np.log(2.0)))),
    "Power": binary("power"),
    "Round": _round,
    "Where": _where,
}
"""Converters of other operations, by class name."""
