"""Operations on a map or a vector and constants: one for all channels, one per channel, or one per pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.graph.activations import clipped, powers
from glsl_infer.graph.elementwise import DRAWN
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.program.layout import TEXTURE_RANKS

_WITHOUT_MAP = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
"""Operations on one constant per channel that are computed without a map of constants."""


def with_constant_map(
    name: str, source: str, shape: Shape, operation: str, value: NDArray[Any], *, first: bool = False
) -> list[Node]:
    """Return the nodes of an operation on a tensor and a map of constants, or [] if it is not such an operation.

    Args:
        name: of the operator.
        source: name of the input node.
        shape: the shape of ``source``.
        operation: one of ``elementwise.BINARY``.
        value: the constants. They are broadcast to the shape, with or without leading axes of 1.
        first: whether the constants are the first operand.
    """
    constant = np.asarray(value, np.float64)
    while constant.ndim > len(shape) and constant.shape[0] == 1:
        constant = constant[0]
    constant = constant.reshape((1,) * (3 - constant.ndim) + constant.shape)
    full_shape = (1,) * (3 - len(shape)) + tuple(shape)
    fits = len(shape) in TEXTURE_RANKS and all(axis in (1, size) for axis, size in zip(constant.shape, full_shape))
    per_channel = max(constant.shape[:2]) == 1
    if not fits or operation not in DRAWN or (per_channel and operation in _WITHOUT_MAP):
        return []
    if not np.isfinite(constant).all():
        return []
    if operation == "divide" and not first:
        if not constant.all():
            return []
        operation, constant = "multiply", 1.0 / constant
    nodes = [constant_map(name, constant)]
    if len(shape) == 1:
        nodes.append(Node(f"{name}-vector", "reshape", (name,), {"shape": (constant.size,)}))
    inputs = (nodes[-1].name, source) if first else (source, nodes[-1].name)
    if operation == "add" and constant.shape == full_shape:
        return [*nodes, Node(f"{name}-add", "add", inputs, {"activation": "linear"})]
    return [*nodes, Node(f"{name}-{operation}", "binary", inputs, {"operation": operation})]


def with_constant(
    name: str, source: str, shape: Shape, operation: str, value: NDArray[Any], *, first: bool = False
) -> list[Node]:
    """Return the nodes of an operation on a tensor and a constant. Arguments: as for ``with_constant_map``.

    Shaders compute it for a map or a vector and one value, one per channel, or a map. The CPU computes all others.

    Raises:
        ValueError: the constant has more axes than the tensor.
    """
    constant = np.asarray(value, np.float64)
    while constant.ndim > max(len(shape), 1) and constant.shape[0] == 1:
        constant = constant[0]
    if constant.ndim > max(len(shape), 1):
        raise ValueError(f"a constant of shape {np.shape(value)}")
    nodes = _in_shaders(name, source, shape, operation, constant, first=first) if len(shape) in TEXTURE_RANKS else []
    if nodes:
        return nodes
    while constant.ndim > 1 and constant.shape[0] == 1:
        constant = constant[0]
    weights = {"constant": constant.reshape(constant.shape or (1,)).astype(np.float32)}
    return [Node(name, "tensor_binary", (source,), {"operation": operation, "constant_first": first}, weights)]


def _in_shaders(
    name: str, source: str, shape: Shape, operation: str, constant: NDArray[np.float64], *, first: bool
) -> list[Node]:
    """Return the nodes of an operation with shaders, or [] if there are none for this constant."""
    of_map = with_constant_map(name, source, shape, operation, constant, first=first)
    if of_map:
        return of_map
    fits = constant.size == 1 or (constant.size == shape[-1] == constant.shape[-1])
    if not fits or not np.isfinite(constant).all():
        return []
    constant, unit, nothing = constant.reshape(-1), np.ones(1), np.zeros(1)
    if operation in ("maximum", "minimum"):
        return _limited(name, source, operation, constant)
    if operation == "divide" and first:
        inverse = Node(name, "activation", (source,), {"function": powers.RECIPROCAL.text})
        return [inverse, _rescaled(f"{name}-scaled", name, constant, nothing)]
    if operation == "divide" and not constant.all():
        return []
    scales_and_offsets = {
        "add": (unit, constant),
        "subtract": (-unit, constant) if first else (unit, -constant),
        "multiply": (constant, nothing),
        "divide": (1.0 / np.where(constant, constant, 1.0), nothing),
    }
    return [_rescaled(name, source, *scales_and_offsets[operation])] if operation in scales_and_offsets else []


def _rescaled(name: str, source: str, scales: NDArray[np.float64], offsets: NDArray[np.float64]) -> Node:
    attrs = {"scales": tuple(scales.tolist()), "offsets": tuple(offsets.tolist())}
    return Node(name, "rescaling", (source,), attrs)


def _limited(name: str, source: str, operation: str, limit: NDArray[np.float64]) -> list[Node]:
    """Return a maximum or minimum: an activation for one limit, a shifted ReLU for a limit per channel."""
    if limit.size == 1:
        bound = float(limit[0])
        lower = powers.at_least(bound) if bound else clipped.relu()
        function = lower if operation == "maximum" else powers.at_most(bound)
        return [Node(name, "activation", (source,), {"function": function.text})]
    sign = np.array([1.0 if operation == "maximum" else -1.0])
    before = _rescaled(name, source, sign, -sign * limit)
    bent = Node(f"{name}-relu", "activation", (name,), {"function": clipped.relu().text})
    return [before, bent, _rescaled(f"{name}-back", bent.name, sign, limit)]


def pixel_slopes(name: str, source: str, shape: Shape, slopes: NDArray[Any]) -> list[Node]:
    """Return the nodes of a PReLU with a slope for each pixel, ``x + (slopes - 1) * min(x, 0)``.

    The result is [] if each channel has one slope, or if the slopes are not finite or do not have the map's shape.
    Arguments: as for ``with_constant_map``.
    """
    if (slopes.reshape(-1, slopes.shape[-1]) == slopes.reshape(-1, slopes.shape[-1])[0]).all():
        return []
    below = Node(f"{name}-below", "activation", (source,), {"function": powers.at_most(0.0).text})
    product = with_constant_map(f"{name}-slopes", below.name, shape, "multiply", np.asarray(slopes, np.float64) - 1.0)
    if not product:
        return []
    return [below, *product, Node(name, "add", (source, product[-1].name), {"activation": "linear"})]


def shortest(number: float) -> float:
    """Return the decimal number with the fewest digits for the same 32-bit float: 0.2 instead of 0.200000003."""
    return float(str(np.float32(number)))
