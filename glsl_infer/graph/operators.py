"""The operators that a graph may name. They are plug-ins: modules of ``glsl_infer.ops``, found by their names.

A graph asks them for shapes and numbers only; how they are drawn concerns the compiler.
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


Reach = tuple[float, float, float]
"""Along an axis (step, first, last): output i depends on none of the input but step * i + first to step * i + last."""


class NodeOperator(Protocol):
    """What a graph needs of an operator; ``glsl_infer.ops.Operator`` has more."""

    attrs: dict[str, Any]
    implied: tuple[str, ...]
    has_shader: bool
    is_input: bool
    on_cpu: bool

    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the output shape, or raise ModelError when inputs and weights do not fit."""

    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the output in NumPy, unrounded."""

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round an exact output to what its texture holds."""

    def reads(self, node: Node) -> tuple[Reach, Reach] | None:
        """Return which rows and which columns of its inputs an output depends on; None if on all, or nobody knows."""

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Any]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the weights from members of a bundle."""


@cache
def operator(name: str) -> NodeOperator:
    """Return the operator called ``name``.

    Raises:
        ModelError: there is none.
    """
    known: NodeOperator = _room().get(name)
    return known


@cache
def _room() -> Any:
    """Return ``glsl_infer.ops``, which imports this room; asked for once, for networks ask a million times."""
    return importlib.import_module("glsl_infer.ops")
