"""Operations on a map or a vector and constants: one for all channels, one per channel, or one per pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.graph.activations import clipped, powers
from glsl_infer.ops.constant_map import constant_map

OPERATIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def beside_map(
    name: str, source: str, shape: Shape, operation: str, value: NDArray[Any], *, first: bool = False
) -> list[Node]:
    """Return the nodes of an operation on a map and a map of constants, or [] if it is not such an operation.

    Args:
        name: of the operator.
        source: name of the input node.
        shape: the shape of ``source``.
        operation: one of ``OPERATIONS``.
        value: the constants. They are broadcast to the shape, with or without leading axes of 1.
        first: whether the constants are the first operand.
    """
    numbers = np.asarray(value, np.float64)
    while numbers.ndim > len(shape) and numbers.shape[0] == 1:
        numbers = numbers[0]
    numbers = numbers.reshape((1,) * (len(shape) - numbers.ndim) + numbers.shape)
    sizes: list[tuple[int, int]] = list(zip(numbers.shape, shape))
    fits = numbers.ndim == len(shape) == 3 and all(own in (1, whole) for own, whole in sizes)
    if not fits or operation not in OPERATIONS or max(numbers.shape[:2]) == 1 or not np.isfinite(numbers).all():
        return []
    if operation == "divide" and not first:
        if not numbers.all():
            return []
        operation, numbers = "multiply", 1.0 / numbers
    constant = constant_map(name, numbers)
    inputs = (name, source) if first else (source, name)
    if operation == "add" and numbers.shape == tuple(shape):
        return [constant, Node(f"{name}-add", "add", inputs, {"activation": "linear"})]
    return [constant, Node(f"{name}-{operation}", "binary", inputs, {"operation": operation})]


def with_constant(
    name: str, source: str, shape: Shape, operation: str, value: NDArray[Any], *, first: bool = False
) -> list[Node]:
    """Return the nodes of an operation on a map or a vector and a constant. Arguments: as for ``beside_map``.

    Raises:
        ValueError: the constant is not one value, one per channel or a map; or the operation has no shader for it.
    """
    of_map = beside_map(name, source, shape, operation, value, first=first)
    if of_map:
        return of_map
    constant = np.asarray(value, np.float64)
    fits = constant.size == 1 or (constant.size == shape[-1] == constant.shape[-1])
    if not fits or not np.isfinite(constant).all():
        raise ValueError(f"a constant of shape {constant.shape} on an input of {shape}")
    constant, unit, nothing = constant.reshape(-1), np.ones(1), np.zeros(1)
    if operation in ("maximum", "minimum"):
        return _limited(name, source, operation, constant)
    if operation == "divide" and first:
        inverse = Node(name, "activation", (source,), {"function": powers.RECIPROCAL.text})
        return [inverse, _rescaled(f"{name}-scaled", name, constant, nothing)]
    if operation == "divide" and not constant.all():
        raise ValueError("a division by 0")
    scales_and_offsets = {
        "add": (unit, constant),
        "subtract": (-unit, constant) if first else (unit, -constant),
        "multiply": (constant, nothing),
        "divide": (1.0 / np.where(constant, constant, 1.0), nothing),
    }
    if operation not in scales_and_offsets:
        raise ValueError(f"{operation} of a tensor and a constant")
    return [_rescaled(name, source, *scales_and_offsets[operation])]


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
    Arguments: as for ``beside_map``.
    """
    if (slopes.reshape(-1, slopes.shape[-1]) == slopes.reshape(-1, slopes.shape[-1])[0]).all():
        return []
    below = Node(f"{name}-below", "activation", (source,), {"function": powers.at_most(0.0).text})
    product = beside_map(f"{name}-slopes", below.name, shape, "multiply", np.asarray(slopes, np.float64) - 1.0)
    if not product:
        return []
    return [below, *product, Node(name, "add", (source, product[-1].name), {"activation": "linear"})]
