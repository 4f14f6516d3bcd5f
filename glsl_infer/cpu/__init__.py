"""Operators that run on the CPU, in NumPy alone: the operators of the CPU parts of a bundle.

A runner computes them without the operators of ``glsl_infer.ops``. ``compute`` also runs layers with a shader, if the
user moved them to the CPU. Their operator is called ``cpu:NAME``, and its reference is loaded when it is first needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from glsl_infer.cpu import (
    boxes,
    custom,
    detections,
    elementwise,
    indexing,
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
    **elementwise.KERNELS,
    **recurrent.KERNELS,
    **sampling.KERNELS,
    **boxes.KERNELS,
    **detections.KERNELS,
}
"""All CPU operators except custom ones, by name."""

FORCED = "cpu:"
"""Prefix of the operator's name in layers moved to the CPU in spite of a shader."""


def compute(node: Node, inputs: Sequence[Array], functions: Functions | None = None) -> Array:
    """Return the output of a node of a CPU part, in the type of its inputs.

    Args:
        node: the node with its weights.
        inputs: an array for each of its inputs.
        functions: custom operators, by their names in the bundle.

    Raises:
        InputError: a custom operator is missing, fails, or returns another shape than it declares.
        ModelError: an unknown operator.
    """
    if node.op in KERNELS:
        return KERNELS[node.op].compute(node.attrs, node.weights, inputs)
    if node.op == CUSTOM:
        return custom.call(node, inputs, functions)
    return node.operator.reference(node, inputs)
