"""Look up operators by name. They are plug-ins: modules of ``glsl_infer.ops``.

A graph needs only their shapes and reference values. The compiler needs the rest of their interface.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from glsl_infer.support.ndarray import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph.node import Array, Node, Shape


AxisWindow = tuple[float, float, float]
"""Dependence along an axis, (step, first, last): output i reads inputs from step * i + first to step * i + last."""


class NodeOperator(Protocol):
    """The part of ``glsl_infer.ops.Operator`` that graphs need."""

    attrs: dict[str, Any]
    implied: tuple[str, ...]
    has_shader: bool
    is_input: bool
    on_cpu: bool

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the output shape; raise ModelError if inputs and weights do not fit together."""

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the output in NumPy, without rounding to stored values."""

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round an exact output to the values that its texture can hold."""

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the rows and columns of its inputs that an output reads; None for all, or if unknown."""

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Any]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the weights decoded from members of a bundle."""


@cache
def operator(name: str) -> NodeOperator:
    """Return the operator with this name.

    Raises:
        ModelError: the name is unknown.
    """
    found_operator: NodeOperator = _ops_package().get(name)
    return found_operator


@cache
def _ops_package() -> Any:
    """Return ``glsl_infer.ops``, which imports this package. Cached, because graphs call it very often."""
    return importlib.import_module("glsl_infer.ops")
