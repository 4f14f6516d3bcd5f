"""Base classes of operators, and checks of their inputs."""

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
"""Lowest and highest values of an output, with an element for each entry of its last axis."""


class Operator(Traits, ABC):
    """An operator of the graph.

    Attributes:
        attrs: allowed attributes of a node, with defaults. Outputs with a range have ``scales`` and ``zeros`` (as in
            ``layout.Range``) and therefore ``bits``; outputs in 16-bit fixed point have ``scale``. ``prepare`` sets
            these.
        implied: attributes that bundles omit if they have their defaults. They are newer than the bundle format: old
            files stay readable, and old readers refuse only networks that they cannot compute.
        weights: allowed weights of a node.
        keeps_range: whether an 8-bit output has the ranges of the inputs.
        equal_scales: whether all channels of the inputs must have the same range.
        has_shader: whether it has passes; otherwise the optimiser must fold it into other nodes.
        is_input: whether its output comes from outside: an image, or numbers.
    """

    attrs: dict[str, Any] = {}
    implied: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    keeps_range: bool = False
    equal_scales: bool = False
    has_shader: bool = True
    is_input: bool = False

    def __init_subclass__(cls) -> None:
        """Add the attribute ``bits`` with default 8 to operators whose output has a range."""
        super().__init_subclass__()
        if {"scales", "zeros"} <= cls.__dict__.get("attrs", {}).keys() and not cls.is_input:
            cls.attrs, cls.implied = {**cls.attrs, "bits": 8}, (*cls.implied, "bits")

    @abstractmethod
    def shape(self, node: Node, inputs: Sequence[Shape]) -> Shape:
        """Return the output shape; raise ModelError if inputs and weights do not fit together."""

    @abstractmethod
    def reference(self, node: Node, inputs: Sequence[Array]) -> Array:
        """Compute the output in NumPy, in the type of the inputs (float32 or float64), without rounding."""

    @abstractmethod
    def passes(self, node: Node, build: Builder) -> None:
        """Append the draws of the node; raise ModelError with its name if shaders cannot compute it."""

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Round an exact output to the values of its texture: 16-bit fixed point, or an 8-bit or 16-bit map."""
        if "scale" in self.attrs:
            return quantize.round_to_fixed16(exact, node.attrs["scale"])
        scales, zeros = (np.asarray(node.attrs[key]) for key in ("scales", "zeros"))
        return quantize.round_to_map(exact, scales, zeros, node.attrs.get("bits", 8))

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the range of an output map, from shapes and ranges of the inputs."""
        return Range(node.attrs.get("scales", (1.0,)), node.attrs.get("zeros", (0.0,)), node.attrs.get("bits", 8))

    def interval(self, node: Node, shape: Shape, inputs: Sequence[Bounds]) -> Bounds:
        """Return bounds of a 16-bit output from the inputs' bounds. 8-bit outputs have ranges instead."""
        raise NotImplementedError(node.op)

    def read_weights(
        self, node: Node, shapes: Mapping[str, Shape], members: Sequence[bytes], inputs: Sequence[Value]
    ) -> Mapping[str, NDArray[np.float32]]:
        """Decode the weights from the bundle members that ``passes`` wrote.

        Args:
            node: the node without its weights.
            shapes: shape of each weight.
            members: bytes of the members.
            inputs: values of the node's inputs.
        """
        return {}

    def padding(self, node: Node) -> int:
        """Return the number of texels that the node reads beyond the edge of its first input."""
        return 0


class CopyOperator(Operator):
    """An operator that only moves or selects stored values.

    Each output value is a value of an input's texture or 0, which all 8-bit textures can store exactly. Therefore the
    output has the inputs' range, and nothing is rounded.
    """

    keeps_range = True

    def store(self, node: Node, exact: Array) -> NDArray[np.float64]:
        """Return the values unchanged, because they are stored values."""
        return np.asarray(exact, np.float64)

    def range(self, node: Node, shapes: Sequence[Shape], ranges: Sequence[Range]) -> Range:
        """Return the input's range."""
        return ranges[0]


class ViewOperator(CopyOperator):
    """An operator that only reorders views, without draws or textures."""


class GraphOnlyOperator(Operator):
    """An operator that the optimiser must remove, fold or split before passes are generated."""

    advice = ""
    has_shader = False

    def passes(self, node: Node, build: Builder) -> None:
        """Refuse a node that could not be folded into another."""
        raise self.refusal(node)

    def refusal(self, node: Node) -> ModelError:
        """Return the error with the name of the node and advice."""
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
