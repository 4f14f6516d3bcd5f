"""CPU parts of a bundle: their operators, input and output tensors, and the weights in a member."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glsl_infer.cpu import CUSTOM, FORCED, KERNELS
from glsl_infer.cpu.custom import NAME
from glsl_infer.errors import BundleError, ModelError
from glsl_infer.graph.node import Node, Shape
from glsl_infer.graph.operators import operator
from glsl_infer.support import json_text

WEIGHTS = "weights/cpu.f32"
"""Member with all weights of a part: one operator after the other, each array row by row."""


@dataclass(frozen=True)
class CpuPart:
    """Operators that NumPy computes, in order.

    Attributes:
        inputs: the tensors read from outside.
        outputs: its tensors that others read; a tensor has the name of its operator.
        nodes: the operators, with their weights.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]

    @property
    def weight_bytes(self) -> bytes:
        """The content of the member ``WEIGHTS``."""
        arrays = [weight for node in self.nodes for weight in node.weights.values()]
        return b"".join(np.ascontiguousarray(array, "<f4").tobytes() for array in arrays)

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of all operators, each once; for custom operators the functions' names."""
        return tuple(dict.fromkeys(str(node.attrs["calls"]) if node.op == CUSTOM else node.op for node in self.nodes))


def with_weights(
    nodes: Sequence[Node], shapes: Sequence[Mapping[str, Shape]], member: bytes, where: str
) -> tuple[Node, ...]:
    """Return operators with their weights from the bytes of the part's member.

    Args:
        nodes: without weights.
        shapes: the shapes of each node's weights.
        member: the bytes.
        where: names the part in messages.

    Raises:
        BundleError: the member's size differs from the total of the weights.
    """
    wanted = 4 * sum(math.prod(shape) for weights in shapes for shape in weights.values())
    if wanted != len(member):
        raise BundleError(f"{where}: its weights have {len(member)} bytes, and its operators need {wanted}")
    numbers = np.frombuffer(member, "<f4").astype(np.float32)
    made, at = [], 0
    for node, weights in zip(nodes, shapes):
        arrays = {}
        for name, shape in weights.items():
            size = math.prod(shape)
            arrays[name] = numbers[at : at + size].reshape(shape)
            at += size
        made.append(replace(node, weights=arrays))
    return tuple(made)


def operator_problem(node: Node) -> str | None:
    """Return why an operator is not allowed in a CPU part or why its attributes are wrong; None if it is valid."""
    known = _attributes(node.op)
    if known is None:
        return f"'{node.op:.40}' is no operator of a CPU part"
    for key in known.symmetric_difference(node.attrs):
        problem = "is missing" if key in known else "is unknown"
        return f"attribute '{key:.40}' {problem}"
    if node.op == CUSTOM and not NAME.fullmatch(str(node.attrs["calls"])):
        return f"'{node.attrs['calls']!s:.60}' names no function as module:function"
    if node.op == CUSTOM and not _is_object(node.attrs["settings"]):
        return "'settings' is no object in JSON"
    return None


def _attributes(op: str) -> set[str] | None:
    """Return the names of the attributes of an operator of a CPU part; None for an unknown operator."""
    if op in KERNELS:
        return set(KERNELS[op].attrs)
    if op == CUSTOM:
        return {"calls", "shape", "settings"}
    inner = op.removeprefix(FORCED)  # a GPU operator placed on the CPU
    try:
        if inner == op or inner.startswith(FORCED) or operator(inner).is_input or operator(inner).on_cpu:
            return None
        return set(operator(op).attrs)
    except ModelError:
        return None


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json_text.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        return False


def shape_of(node: Node, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an operator's tensor from the shapes of its inputs.

    Raises:
        ValueError, ModelError and others: the shapes do not fit together.
    """
    if node.op in KERNELS:
        weights = {name: weight.shape for name, weight in node.weights.items()}
        return KERNELS[node.op].shape_of(node.attrs, weights, shapes)
    if node.op == CUSTOM:
        return tuple(int(size) for size in node.attrs["shape"])
    return node.operator.shape(node, shapes)
