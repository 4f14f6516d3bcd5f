"""The CPU parts of a bundle: operators, what they read and make, and the weights that lie in a member."""

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
"""The member with all weights of a part, one operator's behind the other's, each row by row."""


@dataclass(frozen=True)
class CpuPart:
    """Operators that NumPy computes, in order.

    Attributes:
        inputs: the tensors from outside that it reads.
        outputs: those of its own that others read; a tensor is called like the operator that makes it.
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
        """The names of all operators, each once; of custom ones the functions' names."""
        return tuple(dict.fromkeys(str(node.attrs["calls"]) if node.op == CUSTOM else node.op for node in self.nodes))


def with_weights(
    nodes: Sequence[Node], shapes: Sequence[Mapping[str, Shape]], member: bytes, where: str
) -> tuple[Node, ...]:
    """Return operators with their weights from the bytes of the part's member.

    Args:
        nodes: without weights.
        shapes: of the weights of each.
        member: the bytes.
        where: names the part in messages.

    Raises:
        BundleError: there are more or fewer numbers than the weights need.
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


def check_operator(node: Node, where: str) -> None:
    """Refuse an operator that no CPU part has, or attributes that are not exactly its own.

    Raises:
        BundleError: naming it.
    """
    if node.op in KERNELS:
        known = set(KERNELS[node.op].attrs)
    elif node.op == CUSTOM:
        known = {"calls", "shape", "settings"}
    else:
        known = _moved_attributes(node, where)
    for key in known.symmetric_difference(node.attrs):
        problem = "is missing" if key in known else "is unknown"
        raise BundleError(f"{where}: attribute '{key:.40}' {problem}")
    if node.op == CUSTOM and not NAME.fullmatch(str(node.attrs["calls"])):
        raise BundleError(f"{where}: '{node.attrs['calls']!s:.60}' names no function as module:function")
    if node.op == CUSTOM and not _is_object(node.attrs["settings"]):
        raise BundleError(f"{where}: 'settings' is no object in JSON")


def _is_object(text: Any) -> bool:
    try:
        return isinstance(json_text.loads(text), dict)
    except (TypeError, ValueError, RecursionError):
        return False


def _moved_attributes(node: Node, where: str) -> set[str]:
    """Return the attributes of an operator that was moved to the CPU."""
    inner = node.op.removeprefix(FORCED)
    try:
        if inner == node.op or inner.startswith(FORCED) or operator(inner).is_input or operator(inner).on_cpu:
            raise ModelError("none")
        return set(operator(node.op).attrs)
    except ModelError:
        raise BundleError(f"{where}: '{node.op:.40}' is no operator of a CPU part") from None


def shape_of(node: Node, shapes: Sequence[Shape]) -> Shape:
    """Return the shape of an operator's tensor, given those of its inputs.

    Raises:
        ValueError, ModelError and others: they do not fit together.
    """
    if node.op in KERNELS:
        weights = {name: weight.shape for name, weight in node.weights.items()}
        return KERNELS[node.op].shape_of(node.attrs, weights, shapes)
    if node.op == CUSTOM:
        return tuple(int(size) for size in node.attrs["shape"])
    return node.operator.shape(node, shapes)
