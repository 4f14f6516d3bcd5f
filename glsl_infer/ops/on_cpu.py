"""Operators without a shader, which a bundle's CPU parts compute: those of ``glsl_infer.cpu``, and moved ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import cpu
from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import GraphOnlyOperator, Operator
from glsl_infer.program import quantize

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape

RANGE_KEYS = ("scale", "scales", "zeros", "bits")
"""Attributes of values in textures, which no value of the CPU has."""


def range_keys(operator: Operator) -> tuple[str, ...]:
    """Return the attributes of an operator that say how its output is stored; ``scales`` of a rescaling are no such."""
    return RANGE_KEYS if {"scale", "zeros"} & set(operator.attrs) else ("bits",)


UPLOAD_8, UPLOAD_16, TENSOR_INPUT = "upload8", "upload16", "tensor_input"


class OnCpu(GraphOnlyOperator):
    """An operator of a CPU part. Its numbers are 32-bit floats; a tensor may have any rank."""

    advice = "it runs on the CPU: leave out --no-delegate"
    on_cpu = True

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to 32-bit floats, in which CPU parts compute."""
        return np.asarray(exact, np.float32).astype(np.float64)


class KernelOperator(OnCpu):
    """An operator whose shape rule and function are a kernel's.

    Args:
        name: of the kernel.
    """

    def __init__(self, name: str) -> None:
        self.kernel = cpu.KERNELS[name]
        self.attrs, self.weights = dict(self.kernel.attrs), self.kernel.weights

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return what the kernel's rule says."""
        weights = {name: weight.shape for name, weight in node.weights.items()}
        try:
            return self.kernel.shape_of({**self.attrs, **node.attrs}, weights, inputs)
        except (ValueError, TypeError, LookupError) as error:
            raise ModelError.layer(node.name, str(error), "check its inputs") from None

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute it with the kernel."""
        return self.kernel.compute(node.attrs, node.weights, inputs)


class Custom(OnCpu):
    """A person's own function; see ``cpu.custom``.

    Attributes: ``calls``, its name as ``module:function``; ``shape`` of the output; ``settings``, the keywords of
    the function as JSON. Its weights are keywords, too.
    """

    attrs = {"calls": None, "shape": None, "settings": "{}"}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        return tuple(node.attrs["shape"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Call the function."""
        return cpu.compute(node, inputs)


class Moved(OnCpu):
    """An operator of ``glsl_infer.ops`` that was moved to the CPU, where its reference computes it.

    Args:
        operator: the operator.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        ranged = range_keys(operator)
        self.attrs = {key: value for key, value in operator.attrs.items() if key not in ranged}
        self.weights = operator.weights
        self.keeps_range = operator.keeps_range

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the operator's shape."""
        return self.operator.shape(node, inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the operator's reference."""
        return self.operator.reference(node, inputs)


class Upload(OnCpu):
    """A tensor as a GPU part gets it: rounded to the bytes or the 16-bit integers of the texture that it is written to.

    It is no operator of a file: the graph of a whole bundle has it where a tensor enters a GPU part.

    Args:
        attrs: what says how it is rounded.
    """

    def __init__(self, *attrs: str) -> None:
        self.attrs: dict[str, Any] = dict.fromkeys(attrs)
        self.keeps_range = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the input."""
        return inputs[0]

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round as the texture does."""
        if "scale" in self.attrs:
            return quantize.store16(exact, node.attrs["scale"])
        return quantize.store8(exact, np.asarray(node.attrs["scales"]), np.asarray(node.attrs["zeros"]))


class TensorInput(OnCpu):
    """An input that no GPU part reads, in the graph of a whole bundle. Attribute ``shape``."""

    attrs = {"shape": None}
    is_input = True

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        return tuple(node.attrs["shape"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the input."""
        return inputs[0]


@cache
def named(name: str) -> OnCpu | None:
    """Return the operator of the CPU with this name, other than moved ones; None if there is none."""
    if name in cpu.KERNELS:
        return KernelOperator(name)
    others: dict[str, OnCpu] = {
        cpu.CUSTOM: Custom(),
        UPLOAD_8: Upload("scales", "zeros"),
        UPLOAD_16: Upload("scale"),
        TENSOR_INPUT: TensorInput(),
    }
    return others.get(name)
