"""The form of a CPU operator: a shape rule and a NumPy function, both with plain attributes."""

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
"""Function from attributes, shapes of weights and shapes of inputs to the output's shape.

It raises ValueError with a description of the problem if they do not fit together.
"""

Compute = Callable[[Attrs, Weights, Sequence[Array]], Array]
"""Function from attributes, weights and inputs to the output, in the type of the inputs."""

LARGEST_RANK = 8
"""Largest number of axes of a tensor."""


@dataclass(frozen=True)
class Kernel:
    """A CPU operator. Shapes have no batch axis. Axes may be negative, as in NumPy.

    Attributes:
        about: its function, in one sentence.
        inputs: the (least, most) number of inputs.
        shape: its shape rule.
        compute: its function.
        attrs: all of its attributes with their defaults.
        weights: names of its possible weights.
        implied: attributes that a bundle may leave out, because they are newer than bundles with the operator.
        range: known range of its output: ``kept`` (each value is one of the first input, or 0), ``unit`` (from 0 to 1),
            or empty.
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
            allowed = str(least) if least == most else f"{least} to {most}"
            raise ValueError(f"{len(shapes)} inputs; it reads {allowed}")
        unknown = [name for name in weights if name not in self.weights]
        if unknown:
            raise ValueError(f"a weight '{unknown[0]}'; it has: {', '.join(self.weights) or 'none'}")
        shape = tuple(int(size) for size in self.shape(attrs, weights, shapes))
        if len(shape) > LARGEST_RANK or any(size < 1 for size in shape):
            raise ValueError(f"an output of shape {shape}; give 1 or more on each of at most {LARGEST_RANK} axes")
        return shape


def axis_of(axis: Any, rank: int) -> int:
    """Return an axis as an index from 0 on.

    Raises:
        ValueError: a tensor of this rank does not have the axis.
    """
    if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of a tensor with {rank} axes")
    return axis % rank


def first_shape(attrs: Attrs, weights: Mapping[str, Shape], shapes: Sequence[Shape]) -> Shape:
    """Return the shape of the first input, as the shape rule of elementwise operators."""
    return shapes[0]


def require_rank(shape: Shape, rank: int, subject: str) -> Shape:
    """Return the shape if it has a given number of axes.

    Raises:
        ValueError: it has another number; ``subject`` is the name of the tensor in the message.
    """
    if len(shape) != rank:
        raise ValueError(f"{subject} of shape {shape}; it needs {rank} axes")
    return shape


def operands(names: Sequence[str], weights: Mapping[str, Any], inputs: Sequence[Any]) -> list[Any]:
    """Return the operands of an operator in the order of ``names``: each from the weights, else the next input.

    Raises:
        ValueError: there are too many or too few.
    """
    waiting = list(inputs)
    if len(waiting) + len(weights) != len(names):
        raise ValueError(f"{len(waiting)} inputs and {len(weights)} constants; give {len(names)} in all")
    return [weights[name] if name in weights else waiting.pop(0) for name in names]


def operand_arrays(names: Sequence[str], weights: Weights, inputs: Sequence[Array]) -> list[Array]:
    """Return the operands as arrays in the type of the first input."""
    return [array.astype(inputs[0].dtype, copy=False) for array in operands(names, weights, inputs)]
