"""Operators without a shader, which run on the CPU: those of ``glsl_infer.cpu``, and operators moved to the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import cpu
from glsl_infer.errors import ModelError
from glsl_infer.ops.operator import GraphOnlyOperator, Operator

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape

RANGE_KEYS = ("scale", "scales", "zeros", "bits")
"""Attributes of values in textures, which CPU values do not have."""


def range_keys(operator: Operator) -> tuple[str, ...]:
    """Return an operator's attributes for the storage of its output. Those of a rescaling are not included."""
    return RANGE_KEYS if {"scale", "zeros"} & set(operator.attrs) else ("bits",)


UPLOAD_8, UPLOAD_16, TENSOR_INPUT = "upload8", "upload16", "tensor_input"


class OnCpu(GraphOnlyOperator):
    """An operator that runs on the CPU. Its values are 32-bit floats, and tensors can have any rank."""

    advice = "it runs on the CPU: leave out --no-delegate"
    on_cpu = True

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to 32-bit floats, the type of CPU parts."""
        return np.asarray(exact, np.float32).astype(np.float64)


class KernelOperator(OnCpu):
    """An operator with the shape rule and the function of a kernel.

    Args:
        name: name of the kernel in ``cpu.KERNELS``.
    """

    def __init__(self, name: str) -> None:
        self.kernel = cpu.KERNELS[name]
        self.attrs, self.weights = dict(self.kernel.attrs), self.kernel.weights
        self.only_reshapes = name == "tensor_reshape"

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the result of the kernel's shape rule."""
        weights = {name: weight.shape for name, weight in node.weights.items()}
        try:
            return self.kernel.shape_of({**self.attrs, **node.attrs}, weights, inputs)
        except (ValueError, TypeError, LookupError) as error:
            raise ModelError.layer(node.name, str(error), "check its inputs") from None

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the output with the kernel."""
        return self.kernel.compute(node.attrs, node.weights, inputs)


class Custom(OnCpu):
    """A user's function, as ``cpu.custom`` describes.

    Attributes: ``calls``, its name as ``module:function``; ``shape`` of the output; ``settings``, keyword arguments as
    JSON. Its weights are keyword arguments, too.
    """

    attrs = {"calls": None, "shape": None, "settings": "{}"}

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the declared shape."""
        return tuple(node.attrs["shape"])

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Call the function."""
        return cpu.compute(node, inputs)


class MovedToCpu(OnCpu):
    """An operator of ``glsl_infer.ops`` moved to the CPU, where its reference computes it.

    Args:
        operator: the operator.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        storage_attributes = range_keys(operator)
        self.attrs = {key: value for key, value in operator.attrs.items() if key not in storage_attributes}
        self.weights = operator.weights
        self.keeps_range = operator.keeps_range

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the operator's shape."""
        return self.operator.shape(node, inputs)

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the operator's reference."""
        return self.operator.reference(node, inputs)


class Upload(OnCpu):
    """Rounding of a tensor to the bytes or 16-bit integers of the texture of a GPU part's input.

    Files do not contain this operator. The graph of an entire bundle has it wherever a tensor enters a GPU part.

    Args:
        attrs: names of the attributes with the scale.
    """

    def __init__(self, *attrs: str) -> None:
        self.attrs: dict[str, Any] = dict.fromkeys(attrs)
        self.keeps_range = True

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round to the texture's values."""
        return Operator.store(self, node, exact)

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the input's shape."""
        return inputs[0]

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Return the input."""
        return inputs[0]


class TensorInput(OnCpu):
    """An input that only CPU parts read, in the graph of an entire bundle. Attribute ``shape``."""

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
    """Return the CPU operator with this name, except moved ones; None for other names."""
    if name in cpu.KERNELS:
        return KernelOperator(name)
    special_operators: dict[str, OnCpu] = {
        cpu.CUSTOM: Custom(),
        UPLOAD_8: Upload("scales", "zeros"),
        UPLOAD_16: Upload("scale"),
        TENSOR_INPUT: TensorInput(),
    }
    return special_operators.get(name)
