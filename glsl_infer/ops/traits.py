"""Traits of operators, by which the compiler transforms graphs without naming operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph import Graph, Node, Shape

Affine = tuple[NDArray[np.float64], NDArray[np.float64]]
"""(scale, offset), of one element or (channels,) each: the output is ``x * scale + offset``."""


AxisWindow = tuple[float, float, float]
"""Dependence along an axis, (step, first, last): output i reads inputs from step * i + first to step * i + last."""

SAME: AxisWindow = (1.0, 0.0, 0.0)


def window_reads(node: Node, height: int, width: int) -> tuple[AxisWindow, AxisWindow]:
    """Return the windows of a sliding window of this size, from the node's strides and padding."""
    (down, across), (top, _, left, _) = node.attrs["strides"], node.attrs["padding"]
    return (down, -top, height - 1 - top), (across, -left, width - 1 - left)


def padded_reads(node: Node) -> tuple[AxisWindow, AxisWindow]:
    """Return the windows of a padded or cropped map."""
    top, _, left, _ = node.attrs["padding"]
    return (1.0, -top, -top), (1.0, -left, -left)


def enlarged_reads(down: int, across: int) -> tuple[AxisWindow, AxisWindow]:
    """Return the windows of a map whose pixels become blocks."""
    return (1.0 / down, 1.0 / down - 1.0, 0.0), (1.0 / across, 1.0 / across - 1.0, 0.0)


class Traits:
    """Traits of an operator, with the most common values as defaults.

    Attributes:
        is_input: whether it is an input of the network.
        activates: whether it is an activation function only.
        adds: whether it is the sum of its inputs, with an activation.
        broadcasts: whether it has two inputs, and a vector can replace a map of one pixel.
        averages: whether it averages entire maps, so that a map of one pixel becomes the vector of its channels.
        convolves: whether it is an entire convolution, with padding and residual.
        elementwise: whether it has one input, and does the same to a vector as to a map of one pixel.
        has_kernel: whether it is a sum of products with a weight ``kernel``, whose last axis are its outputs, and a
            ``bias``.
        idle: attributes with which it is the identity; None without such attributes.
        interpolates: whether each output value is a weighted mean of its channel's values; the weights add up to 1, and
            the mean over all pixels is that of the input.
        is_constant: whether its output depends on weights only.
        moves: whether each output value is one of its input's values.
        on_cpu: whether it runs in CPU parts, without a shader.
        on_vectors: the equivalent operator for vectors, which are stored in 16 bits; None without one.
        on_parts: treatment of long vectors in parts (``optimize.long_vectors``): ``rows`` flattens a map into parts,
            ``join`` has the parts of all inputs, ``products`` sums over them, ``each`` processes them separately,
            ``map`` combines them to a map; empty if it needs the entire vector.
        only_pads: whether it only adds zeros around its input, by an attribute ``padding``.
        only_reshapes: whether it only changes the shape.
        repeats: whether it only repeats pixels, each equally often.
        staged: whether ``prepare`` replaces it by other operators.
        margin: factor by which 16-bit values can exceed their interval bound.
        local: whether output pixel (y, x) depends only on pixel (y, x) of each input.
    """

    is_input: bool = False
    activates: bool = False
    adds: bool = False
    averages: bool = False
    broadcasts: bool = False
    convolves: bool = False
    elementwise: bool = False
    has_kernel: bool = False
    idle: Mapping[str, Any] | None = None
    interpolates: bool = False
    is_constant: bool = False
    moves: bool = False
    on_cpu: bool = False
    on_vectors: str | None = None
    on_parts: str = ""
    only_pads: bool = False
    only_reshapes: bool = False
    repeats: bool = False
    staged: bool = False
    margin: float = 1.0
    local: bool = False

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the node does not change a first input of this shape."""
        return self.idle is not None and self.idle.items() <= node.attrs.items()

    def affine(self, node: Node) -> Affine | None:
        """Return scale and offset of an affine node, else None."""
        return None

    def normal(self, node: Node) -> Affine | None:
        """Return the (mean, deviation) of each channel of the node's outputs during training, if known."""
        return None

    def replacement(self, node: Node, shapes: Sequence[Shape]) -> str | None:
        """Return the operator that replaces this one for inputs of these shapes, else None."""
        return None

    def shows_lanes(self, node: Node) -> bool:
        """Return whether views can represent the node only if padding lanes of the input are 0."""
        return False

    def parts(self, node: Node, shapes: Sequence[Shape]) -> tuple[Node, ...]:
        """Return nodes that are equivalent for inputs of these shapes; the last has the node's name.

        Empty for no split.
        """
        return ()

    def merged(self, node: Node, producer: Node) -> Node | None:
        """Return a node equal to ``producer`` and ``node``, its reader, both of this operator; None if impossible."""
        return None

    def host_step(self, node: Node) -> str:
        """Return the equivalent host step for an output, or an empty text."""
        return ""

    def is_partial(self, node: Node) -> bool:
        """Return whether the node stores partial sums, which its reader adds."""
        return False

    def unit(self, node: Node) -> float:
        """Return the value, in the output, of a stored unit of the partial sums that the node adds."""
        return 1.0

    def products(self, graph: Graph, node: Node) -> tuple[Node, NDArray[np.float32]] | None:
        """Return the node that reads the input map of the convolution whose result this node stores, and its kernel.

        The kernel is in real units: (kernel height, kernel width, channels / groups, filters). None for other nodes.
        """
        return None

    def reads(self, node: Node) -> tuple[AxisWindow, AxisWindow] | None:
        """Return the rows and columns of its inputs that an output reads; None for all, or if unknown."""
        return (SAME, SAME) if self.local else None
