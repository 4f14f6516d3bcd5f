"""Operations of a feature map and constants that differ from pixel to pixel: embeddings of positions, masks, slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.graph.activations import powers
from glsl_infer.ops.constant_map import constant_map

OPERATIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def beside_map(
    name: str, source: str, shape: Shape, operation: str, value: NDArray[Any], *, first: bool = False
) -> list[Node]:
    """Return the nodes of an operation on a map and a map of constants; none where it is no such.

    Args:
        name: of the operator.
        source: the node that it reads.
        shape: that node's.
        operation: one of ``OPERATIONS``.
        value: constants that are broadcast to the shape, with axes of 1 in front or not.
        first: whether the constants stand before the tensor.
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


def pixel_slopes(name: str, source: str, shape: Shape, slopes: NDArray[Any]) -> list[Node]:
    """Return the nodes of a PReLU whose slopes differ from pixel to pixel, ``x + (slopes - 1) * min(x, 0)``.

    None where each channel has one slope, or where they are not finite, or not of the map. Arguments are as of
    ``beside_map``.
    """
    if (slopes.reshape(-1, slopes.shape[-1]) == slopes.reshape(-1, slopes.shape[-1])[0]).all():
        return []
    below = Node(f"{name}-below", "activation", (source,), {"function": powers.at_most(0.0).text})
    product = beside_map(f"{name}-slopes", below.name, shape, "multiply", np.asarray(slopes, np.float64) - 1.0)
    if not product:
        return []
    return [below, *product, Node(name, "add", (source, product[-1].name), {"activation": "linear"})]
