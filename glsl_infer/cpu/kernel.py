"""What a CPU operator is: a shape rule and a NumPy function, both of plain attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from glsl_infer.graph.node import Array, Shape

Attrs = Mapping[str, Any]
"""Settings of an operator: numbers, strings, tuples of numbers."""

Weights = Mapping[str, Array]
"""Constant arrays of an operator, by name."""

ShapeRule = Callable[[Attrs, Mapping[str, Shape], Sequence[Shape]], Shape]
"""Returns the output's shape for attributes, shapes of weights and shapes of inputs; ValueError says what is wrong."""

Compute = Callable[[Attrs, Weights, Sequence[Array]], Array]
"""Returns the output in the type of the inputs."""

LARGEST_RANK = 8
"""Axes of a tensor, at most."""


@dataclass(frozen=True)
class Kernel:
    """A CPU operator. Shapes have no batch axis; axes may be negative, as in NumPy.

    Attributes:
        about: what it computes, in one sentence.
        inputs: how many tensors it reads, (least, most).
        shape: its shape rule.
        compute: its function.
        attrs: every attribute it has, with its default.
        weights: the names of the weights that it may have.
        implied: the attributes that a bundle may leave out: they are younger than bundles that have the operator.
        range: what is known of its numbers: ``kept`` (each is a number of its first input, or 0), ``unit`` (from 0 to
            1), or nothing.
    """

    about: str
    inputs: tuple[int, int]
    shape: ShapeRule
    compute: Compute
    attrs: Attrs = field(default_factory=dict)
    weights: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    range: Literal["kept", "unit", ""] = ""

    def shape_of(self, attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
        """Return the shape of the output.

        Raises:
            ValueError: inputs, weights and attributes do not fit together.
        """
        least, most = self.inputs
        if not least <= len(shapes) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise ValueError(f"{len(shapes)} inputs; it reads {wanted}")
        unknown = [name for name in weights if name not in self.weights]
        if unknown:
            raise ValueError(f"a weight '{unknown[0]}'; it has: {', '.join(self.weights) or 'none'}")
        shape = tuple(int(size) for size in self.shape(attrs, weights, shapes))
        if len(shape) > LARGEST_RANK or any(size < 1 for size in shape):
            raise ValueError(f"an output of shape {shape}; give 1 or more on each of at most {LARGEST_RANK} axes")
        return shape


def axis_of(axis: Any, rank: int) -> int:
    """Return an axis as a number from 0 on.

    Raises:
        ValueError: a tensor of this rank has no such axis.
    """
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of a tensor with {rank} axes")
    return axis % rank


def first_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    """Return the shape of the first input: the shape rule of what changes numbers only."""
    return shapes[0]


def require_rank(shape: Shape, rank: int, what: str) -> Shape:
    """Return the shape if it has so many axes.

    Raises:
        ValueError: it has not; ``what`` names the tensor.
    """
    if len(shape) != rank:
        raise ValueError(f"{what} of shape {shape}; it needs {rank} axes")
    return shape
