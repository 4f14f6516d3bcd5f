"""Operators that run on the CPU, in NumPy alone: what a bundle's CPU parts are made of.

A runner needs no operator of ``glsl_infer.ops`` for them. ``compute`` also does what a person moved to the CPU, whose
operator is called ``cpu:NAME``: that is the reference of the operator NAME, loaded when it is met.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.cpu import (
    boxes,
    custom,
    detections,
    indexing,
    numbers,
    products,
    recurrent,
    sampling,
    selection,
    tensors,
)
from glsl_infer.cpu.custom import CUSTOM, Functions
from glsl_infer.cpu.kernel import Kernel
from glsl_infer.graph.node import Array, Node

__all__ = ["CUSTOM", "FORCED", "KERNELS", "Functions", "Kernel", "compute"]

KERNELS: Mapping[str, Kernel] = {
    **products.KERNELS,
    **selection.KERNELS,
    **indexing.KERNELS,
    **tensors.KERNELS,
    **numbers.KERNELS,
    **recurrent.KERNELS,
    **sampling.KERNELS,
    **boxes.KERNELS,
    **detections.KERNELS,
}
"""All CPU operators but custom ones, by name."""

FORCED = "cpu:"
"""How the name begins of an operator with a shader that was moved to the CPU."""


def compute(node: Node, inputs: Sequence[Array], functions: Functions | None = None) -> Array:
    """Return the output of a node of a CPU part, in the type of its inputs.

    Args:
        node: with its weights.
        inputs: an array for each of its inputs.
        functions: custom operators, by the names that bundles have for them.

    Raises:
        InputError: a custom operator that was not given, or that returns something else than it said.
        ModelError: no operator has this name.
    """
    if node.op in KERNELS:
        return KERNELS[node.op].compute(node.attrs, node.weights, inputs)
    if node.op == CUSTOM:
        return custom.call(node, inputs, functions)
    return node.operator.reference(node, inputs)
