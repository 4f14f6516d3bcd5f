"""What every operator provides, and how it may refuse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError, with_article
from glsl_infer.ops.traits import Traits
from glsl_infer.program import quantize
from glsl_infer.program.layout import Range

if TYPE_CHECKING:
    from glsl_infer.graph import Array, Node, Shape
    from glsl_infer.lowering.builder import Builder
    from glsl_infer.program.layout import Value

Bounds = tuple[NDArray[Any], NDArray[Any]]
"""The lowest and highest values of an output, one for each entry of its last axis."""


class Operator(Traits, ABC):
    """An operator of the graph.

    Attributes:
        attrs: every attribute a node may carry, with its default. Those that round to a range have ``scales`` and
            ``zeros`` (see ``layout.Range``), and by that ``bits``; those of 16-bit fixed point have ``scale``;
            ``prepare`` sets them.
        implied: the attributes that a bundle leaves out where they have their defaults. They are younger than bundles
            of this format: so old files stay readable, and old readers refuse only what they cannot compute.
        weights: the weights a node may carry.
        keeps_range: whether its output in 8 bits has the ranges of its inputs.
        equal_scales: whether all channels of its inputs must have the same range.
        has_shader: whether it can be drawn; else the optimiser has to fold it into its neighbours.
        is_input: whether its output comes from outside: a picture, or numbers.
    """

    attrs: dict[str, Any] = {}
    implied: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    keeps_range: bool = False
    equal_scales: bool = False
    has_shader: bool = True
    is_input: bool = False

    def __init_subclass__(cls) -> None:
        """Give operators that round to a range the attribute ``bits``, 8 unless a layer is stored in 16."""
        super().__init_subclass__()
        if {"scales", "zeros"} <= cls.__dict__.get("attrs", {}).keys() and not cls.is_input:
            cls.attrs, cls.implied = {**cls.attrs, "bits": 8}, (*cls.implied, "bits")

    @abstractmethod
    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the output shape, or raise ModelError when inputs and weights do not fit."""

    @abstractmethod
    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the output in NumPy, in the type of the inputs (float32 or float64), unrounded."""

    @abstractmethod
    def passes(self, node: Node, build: Builder) -> None:
        """Append the draws of the node, or raise ModelError naming it when shaders cannot do it."""

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round an exact output to what its texture holds: a map of 8 or 16 bits unless an operator overrides it."""
        scales, zeros = (np.asarray(node.attrs[key]) for key in ("scales", "zeros"))
        return quantize.store_map(exact, scales, zeros, node.attrs.get("bits", 8))

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return what the bytes of an output that is a map stand for, given shapes and ranges of the inputs."""
        return Range(node.attrs.get("scales", (1.0,)), node.attrs.get("zeros", (0.0,)), node.attrs.get("bits", 8))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of a 16-bit output of ``shape`` from the inputs' bounds; those of 8 bits follow from ranges."""
        raise NotImplementedError(node.op)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Return the weights from the bundle members that ``passes`` wrote.

        Args:
            node: the node without its weights.
            shapes: the shape of each weight.
            members: bytes of the members.
            inputs: where the node's inputs lie.
        """
        return {}

    def padding(self, node: Node) -> int:
        """Return how many texels beyond its first input's edge the node reads."""
        return 0


class CopyOperator(Operator):
    """An operator that only moves or selects values that its inputs store, and computes no new ones.

    Every value it writes is one that an input's texture holds, or 0 (which every 8-bit texture can hold exactly),
    so it lies on the 8-bit grid already and nothing is rounded. The output is therefore stored over the same range
    as its inputs, whatever that range is.
    """

    keeps_range = True

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Return the values as they are: they were stored before."""
        return np.asarray(exact, np.float64)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the input's range."""
        return ranges[0]


class ViewOperator(CopyOperator):
    """An operator that only reorders views: no draw, no texture, nothing rounded."""


class GraphOnlyOperator(Operator):
    """An operator that the optimiser is expected to remove, fold or split before the passes."""

    advice = ""
    has_shader = False

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse: what is still here could not be folded into a neighbour."""
        raise self.refusal(node)

    def refusal(self, node: Node) -> ModelError:
        """Return the error that names the node and says what to do."""
        return ModelError.layer(node.name, f"{with_article(node.op)} in this place has no shader", self.advice)


def feature_map(node: Node, shape: Shape) -> tuple[int, int, int]:
    """Return ``shape`` if it is ``(height, width, channels)``, else raise ModelError."""
    if len(shape) != 3:
        raise ModelError.layer(
            node.name, f"{with_article(node.op)} of shape {shape}", "it needs a feature map (height, width, channels)"
        )
    return shape[0], shape[1], shape[2]


def vector(node: Node, shape: Shape) -> int:
    """Return the length of ``shape`` if it is a vector's, else raise ModelError."""
    if len(shape) != 1:
        raise ModelError.layer(
            node.name,
            f"{with_article(node.op)} of shape {shape}",
            "it needs a vector: put a GlobalAveragePooling2D in front",
        )
    return shape[0]
