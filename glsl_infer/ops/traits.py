"""What the compiler asks of an operator before it changes a graph around it, so that no step names operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from glsl_infer.graph import Graph, Node, Shape

Affine = tuple[NDArray[np.float64], NDArray[np.float64]]
"""(scale, offset), each of one number or (channels,): the output is ``x * scale + offset``."""


Reach = tuple[float, float, float]
"""Along an axis (step, first, last): output i depends on none of the input but step * i + first to step * i + last."""

SAME: Reach = (1.0, 0.0, 0.0)


def window_reads(node: Node, height: int, width: int) -> tuple[Reach, Reach]:
    """Return what windows of so many pixels read, by the node's strides and padding."""
    (down, across), (top, _, left, _) = node.attrs["strides"], node.attrs["padding"]
    return (down, -top, height - 1 - top), (across, -left, width - 1 - left)


def moved(node: Node) -> tuple[Reach, Reach]:
    """Return what a padded map reads, or a cut one."""
    top, _, left, _ = node.attrs["padding"]
    return (1.0, -top, -top), (1.0, -left, -left)


def enlarged(down: int, across: int) -> tuple[Reach, Reach]:
    """Return what a map reads of which each pixel becomes a block."""
    return (1.0 / down, 1.0 / down - 1.0, 0.0), (1.0 / across, 1.0 / across - 1.0, 0.0)


class Traits:
    """Traits of an operator; these are what most have.

    Attributes:
        is_input: whether it is what the network is given.
        activates: whether it is an activation function and nothing else.
        adds: whether it is the sum of its inputs, with an activation.
        broadcasts: whether it has two inputs, of which a map of one pixel may as well be a vector.
        averages: whether it averages a whole map: one of a single pixel becomes the vector of that.
        convolves: whether it is a whole convolution, with a place for padding and a residual.
        elementwise: whether it has one input, and does the same to a vector as to a map of one pixel.
        has_kernel: whether it is a sum of products with weights ``kernel``, whose last axis are its outputs, and a
            ``bias``.
        idle: attributes with which it changes nothing; None if there are no such.
        is_constant: whether it is made of weights alone.
        on_cpu: whether it has no shader, and CPU parts compute it.
        on_vectors: the operator that does the same to vectors, which are stored in 16 bits; None if it has none.
        on_parts: what it does with vectors that are held in parts (``optimize.long_vectors``): ``rows`` lays out a map,
            ``join`` has the parts of all inputs, ``products`` sums over them, ``each`` takes them one by one, ``map``
            puts them together; empty if it needs a whole vector.
        only_pads: whether it puts zeros around its input, by an attribute ``padding``.
        only_reshapes: whether it gives its values another shape, and nothing else.
        staged: whether others take its place when every value gets its range.
        margin: how many times their interval bound its values in 16 bits may need.
        local: whether pixel (y, x) of its output depends on nothing but pixel (y, x) of each input.
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
    is_constant: bool = False
    on_cpu: bool = False
    on_vectors: str | None = None
    on_parts: str = ""
    only_pads: bool = False
    only_reshapes: bool = False
    staged: bool = False
    margin: float = 1.0
    local: bool = False

    def is_identity(self, node: Node, shape: Shape) -> bool:
        """Return whether the node changes nothing of a first input of ``shape``."""
        return self.idle is not None and self.idle.items() <= node.attrs.items()

    def affine(self, node: Node) -> Affine | None:
        """Return the scale and the offset that the node is, if it is one."""
        return None

    def normal(self, node: Node) -> Affine | None:
        """Return the (mean, deviation) of each channel that the node's outputs have had in training, if it knows."""
        return None

    def replacement(self, node: Node, shapes: Sequence[Shape]) -> str | None:
        """Return the operator that has to do the same where inputs have these shapes, if it is another."""
        return None

    def shows_lanes(self, node: Node) -> bool:
        """Return whether views could do the node only where lanes beyond the input's last channel hold 0."""
        return False

    def parts(self, node: Node, shapes: Sequence[Shape]) -> tuple[Node, ...]:
        """Return the nodes that together do the same on inputs of these shapes, the last under the node's name."""
        return ()

    def merged(self, node: Node, before: Node) -> Node | None:
        """Return the node that computes what the node makes of another one of its operator; None if none does."""
        return None

    def host_step(self, node: Node) -> str:
        """Return the host step that does the same to an output, or an empty text."""
        return ""

    def is_partial(self, node: Node) -> bool:
        """Return whether the node stores partial sums, which its reader adds up."""
        return False

    def unit(self, node: Node) -> float:
        """Return what one stored unit of the partial sums that the node adds up is worth in its output."""
        return 1.0

    def products(self, graph: Graph, node: Node) -> tuple[Node, NDArray[np.float32]] | None:
        """Return the node that reads the map of a convolution whose result the node stores, and its kernel.

        The kernel is in real units: (kernel height, kernel width, channels / groups, filters). None if there is none.
        """
        return None

    def reads(self, node: Node) -> tuple[Reach, Reach] | None:
        """Return which rows and which columns of its inputs an output depends on; None if on all, or nobody knows."""
        return (SAME, SAME) if self.local else None
