"""Elementwise operations and reductions of Keras -> nodes for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cpu.kernel import axis_of
from glsl_infer.graph import Node
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.tensor_products import is_tensor
from glsl_infer.importers.keras.weights import array


def axis(call: Call, given: Any) -> int:
    """Return an axis of the first input from Keras' count, in which the batch is axis 0."""
    rank = len(call.shapes[0])
    if isinstance(given, (list, tuple)) and len(given) == 1:
        (given,) = given
    if not isinstance(given, int) or given == 0 or given == -rank - 1:
        raise call.refused(f"axis={given}", "give one axis, not that of the batch")
    try:
        return axis_of(given - 1 if given > 0 else given, rank)
    except ValueError as error:
        raise call.refused(str(error), "give an axis that it has") from None


def axes(call: Call, given: Any) -> tuple[int, ...]:
    """Return several axes, as in ``axis``."""
    if given is None:
        raise call.refused("axis=None", "name the axes, without that of the batch")
    return tuple(axis(call, one) for one in (given if isinstance(given, (list, tuple)) else [given]))


def constant(call: Call, value: Any) -> NDArray[np.float32]:
    """Return a constant without a batch axis, to broadcast with inputs without one."""
    numbers: NDArray[np.float32] = np.asarray(array(value), np.float32)
    if numbers.ndim > max(map(len, call.shapes)):
        if numbers.shape[0] != 1:
            raise call.refused(f"a constant of shape {numbers.shape}", "give it no batch")
        numbers = numbers[0]
    return numbers


def binary(operation: str) -> Converter:
    """Return the converter of an operation on tensors from left to right, or on a tensor and a constant."""

    def convert(call: Call) -> list[Node]:
        given = call.arguments[0] if isinstance(call.arguments[0], (list, tuple)) else call.arguments
        constants = [value for value in given if not is_tensor(value)]
        if not constants:
            return chain(call, operation)
        if len(call.inputs) != 1 or len(constants) != 1 or constants[0] is None:
            raise call.refused(f"{operation} of {len(given)} values", "give it two")
        attrs = {"operation": operation, "constant_first": not is_tensor(given[0])}
        return [call.node("tensor_binary", attrs, constant=constant(call, constants[0]))]

    return convert


def chain(call: Call, operation: str) -> list[Node]:
    """Return the nodes of an operation on the call's inputs, from left to right."""
    reads = list(call.inputs)
    given = call.arguments[0] if call.arguments and isinstance(call.arguments[0], (list, tuple)) else call.arguments
    if len(reads) == 1 and sum(is_tensor(value) for value in given) > 1:
        reads *= len(given)  # of a tensor with itself
    nodes: list[Node] = []
    left = reads[0]
    for number, right in enumerate(reads[1:]):
        name = call.name if not number else f"{call.name}-{number + 1}"
        nodes.append(Node(name, "tensor_binary", (left, right), {"operation": operation}))
        left = name
    return nodes


class Chain:
    """A chain of nodes, each of which reads the previous one and optionally others. The first has the call's name."""

    def __init__(self, call: Call) -> None:
        self.call, self.nodes = call, list[Node]()

    def add(self, op: str, attrs: dict[str, Any], *others: str, **weights: NDArray[np.float32]) -> str:
        """Append a node; return its name."""
        name = f"{self.call.name}-{len(self.nodes) + 1}" if self.nodes else self.call.name
        first = self.nodes[-1].name if self.nodes else self.call.inputs[0]
        self.nodes.append(Node(name, op, (first, *others), attrs, weights))
        return name

    def by(self, operation: str, number: float) -> str:
        """Append an operation with a scalar."""
        return self.add("tensor_binary", {"operation": operation}, constant=np.array([number], np.float32))

    def function(self, name: str) -> str:
        """Append an activation function."""
        return self.add("tensor_function", {"function": name})


def _unary(operation: str) -> Converter:
    return lambda call: [call.node("tensor_unary", {"operation": operation})]


def _round(call: Call) -> list[Node]:
    decimals = int(call.layer.decimals)
    made = Chain(call)
    if decimals:
        made.by("multiply", 10.0**decimals)
    made.add("tensor_unary", {"operation": "round"})
    if decimals:
        made.by("divide", 10.0**decimals)
    return made.nodes


def _tan(call: Call) -> list[Node]:
    sine = call.node("tensor_function", {"function": "sin"})
    cosine = Node(f"{call.name}-cos", "tensor_function", call.inputs, {"function": "cos"})
    both = (sine.name, cosine.name)
    return [sine, cosine, Node(f"{call.name}-tan", "tensor_binary", both, {"operation": "divide"})]


def _steps(*steps: tuple[str, float] | str) -> Converter:
    """Return the converter of a sequence of functions and of operations with a scalar."""

    def convert(call: Call) -> list[Node]:
        made = Chain(call)
        for step in steps:
            made.function(step) if isinstance(step, str) else made.by(*step)
        return made.nodes

    return convert


def _where(call: Call) -> list[Node]:
    values = call.arguments
    if len(values) != 3 or any(value is None for value in values):
        raise call.refused("a where of a condition alone", "give it three values: condition, x1, x2")
    weights, reads, known = {}, [], list(call.inputs)
    names: dict[int, str] = {}
    for key, value in zip(("condition", "yes", "no"), values):
        if not is_tensor(value):
            weights[key] = constant(call, value)
            continue
        if id(value) not in names:
            names[id(value)] = known.pop(0)
        reads.append(names[id(value)])
    return [Node(call.name, "select", tuple(reads), {}, weights)]


def cast(call: Call) -> list[Node]:
    """Convert a cast. Values in a network are floats, so a cast to integers truncates, and a Boolean is 1 or 0."""
    kind = str(call.layer.dtype)
    if "float" in kind:
        return [call.node("identity")]
    if kind == "bool":
        return binary_with(call, "not_equal", 0.0)
    if kind in ("int16", "int32", "int64"):
        return [call.node("tensor_unary", {"operation": "truncate"})]
    raise call.refused(f"a cast to {kind}", "cast to float32, int32 or bool")


def binary_with(call: Call, operation: str, number: float) -> list[Node]:
    """Return the node of an operation with a scalar."""
    made = Chain(call)
    made.by(operation, number)
    return made.nodes


def reduction(kind: str, given: Callable[[Any], Any] = lambda layer: layer.axis) -> Converter:
    """Return the converter of a reduction over axes."""

    def convert(call: Call) -> list[Node]:
        attrs = {"reduction": kind, "axes": axes(call, given(call.layer)), "keep": bool(call.layer.keepdims)}
        return [call.node("tensor_reduce", attrs)]

    return convert


OPERATIONS: Mapping[str, Converter] = {
    **{
        name: binary(operation)
        for table in (elementwise.operations, elementwise.comparisons)
        for name, operation in table(elementwise.KERAS).items()
    },
    **{name: _unary(operation) for name, operation in elementwise.functions(elementwise.KERAS).items()},
    "Power": binary("power"),
    "All": reduction("min"),
    "Amax": reduction("max"),
    "Amin": reduction("min"),
    "Any": reduction("max"),
    "Cast": cast,
    "Exp2": _steps(("multiply", float(np.log(2.0))), "exponential"),
    "Expm1": _steps("exponential", ("subtract", 1.0)),
    "Log10": _steps("log", ("divide", float(np.log(10.0)))),
    "Log1p": _steps(("add", 1.0), "log"),
    "Log2": _steps("log", ("divide", float(np.log(2.0)))),
    "Max": reduction("max"),
    "Mean": reduction("mean"),
    "Min": reduction("min"),
    "Negative": _steps(("multiply", -1.0)),
    "Prod": reduction("product"),
    "Round": _round,
    "Sum": reduction("sum"),
    "Tan": _tan,
    "Where": _where,
}
"""Converters by class name."""
