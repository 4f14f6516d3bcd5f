"""What a converter gets: one operator of a file, for one of the tensors that it makes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.graph.activations import activation
from glsl_infer.importers.shared.padding import Padding, padding_of
from glsl_infer.importers.tflite.model import Operator, Tensor

FUSED = ("linear", "relu", "relu_n1_to_1", "relu(6)")
"""Activations that an operator may end in, by their numbers in the file. LiteRT itself ignores others."""

MOST_NUMBERS = 2**28
"""Of a tensor that operators make: a texture of 8192x8192 holds as many."""

MOST_AXES = 8
"""Of a tensor, with the batch; see ``cpu.kernel.LARGEST_RANK``."""

_PADDINGS = ("same", "valid")


@dataclass(frozen=True)
class Call:
    """One operator.

    Attributes:
        name: a free name for the node that stands for it.
        operator: as the file has it.
        inputs: names of the nodes that it reads.
        shapes: their shapes, without the batch axis.
        constants: what it reads, in the file's order: None for what is no constant.
        tensors: what it reads, in the same order: None for what is left out.
        tensor: what it makes.
        output: which of its outputs that is.
        earlier: the node that all outputs of the operator read, where an earlier one has made it; else empty.
    """

    name: str
    operator: Operator
    inputs: tuple[str, ...]
    shapes: tuple[Shape, ...]
    constants: tuple[NDArray[Any] | None, ...]
    tensors: tuple[Tensor | None, ...]
    tensor: Tensor
    output: int = 0
    earlier: str = ""

    @property
    def kind(self) -> str:
        """The operator's kind."""
        return self.operator.kind

    @property
    def shape(self) -> Shape:
        """The shape of what it makes, without the batch axis, as the file has it.

        Raises:
            ModelError: the file does not know it.
        """
        return shape_of(self.tensor)

    @property
    def given(self) -> tuple[int, ...]:
        """The shape of its first input, with the batch."""
        tensor = next(tensor for tensor, value in zip(self.tensors, self.constants) if tensor and value is None)
        return full_shape(tensor, self.shapes[0])

    def refused(self, given: str, advice: str) -> ModelError:
        """Return the error that says what cannot be exported, and what to do."""
        return ModelError.layer(self.name, f"{self.kind}: {given}", advice)

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option.

        Raises:
            ModelError: the file has none, and there is no default.
        """
        value = self.operator.options.get(name, default)
        if value is None:
            raise self.refused(f"without its option {name}", "the file is damaged; convert the model anew")
        return value

    def constant(self, place: int, what: str) -> NDArray[Any]:
        """Return the constant that it reads at ``place``.

        Raises:
            ModelError: it is none.
        """
        value = self.constants[place] if place < len(self.constants) else None
        if value is None:
            raise self.refused(f"{what} that the network computes", f"{what} must be a constant of the file")
        return value

    def integers(self, place: int, what: str) -> list[int]:
        """Return the constant at ``place`` as whole numbers."""
        return [int(number) for number in self.constant(place, what).reshape(-1)]

    def weights(self, place: int, what: str, rank: int) -> NDArray[np.float32]:
        """Return the constant at ``place`` as weights.

        Raises:
            ModelError: it is none, or has another number of axes.
        """
        value = self.constant(place, what)
        if value.ndim != rank or not value.size:
            raise self.refused(f"{what} of shape {value.shape}", f"{what} must have {rank} axes")
        return np.ascontiguousarray(value, np.float32)

    def bias(self, place: int, outputs: int) -> NDArray[np.float32]:
        """Return the bias at ``place``, zeros if it is left out."""
        if place >= len(self.operator.inputs) or self.operator.inputs[place] < 0:
            return np.zeros(outputs, np.float32)
        value = self.constant(place, "a bias")
        if value.size != outputs:
            raise self.refused(f"a bias of shape {value.shape} for {outputs} outputs", "make them equal")
        return np.ascontiguousarray(value.reshape(-1), np.float32)

    def feature_map(self, place: int = 0) -> Shape:
        """Return the shape of an input that must be a feature map.

        Raises:
            ModelError: it is none.
        """
        if place >= len(self.shapes) or len(self.shapes[place]) != 3:
            raise self.refused("on no feature map", "give it one tensor with 4 axes that the network computes")
        return self.shapes[place]

    def node(self, op: str, attrs: Mapping[str, Any] | None = None, **weights: NDArray[np.float32]) -> Node:
        """Return the node that stands for the operator."""
        return Node(self.name, op, self.inputs, attrs or {}, weights)

    def padding(self, window: tuple[int, int], strides: tuple[int, int], dilation: tuple[int, int] = (1, 1)) -> Padding:
        """Return (top, bottom, left, right) for a window over its first input."""
        height, width, _ = self.feature_map()
        kind = self.option("Padding")
        if kind >= len(_PADDINGS) or min(strides) < 1 or min(dilation) < 1:
            raise self.refused(f"padding {kind}, strides {strides}, dilation {dilation}", "the file is damaged")
        return padding_of(_PADDINGS[kind], (height, width), window, strides, dilation)

    def activated(self, nodes: list[Node]) -> list[Node]:
        """Return the nodes with that of the activation behind them that the operator ends in."""
        number = self.option("FusedActivationFunction", 0)
        if not number:
            return nodes
        if number >= len(FUSED):
            raise self.refused(f"activation number {number}", f"these can be exported: {', '.join(FUSED)}")
        return [*nodes, *function(f"{self.name}-activation", nodes[-1].name, FUSED[number])]


Converter = Callable[[Call], "list[Node]"]
"""From a call to its nodes: the first bears the call's name, the last is its output."""


def function(name: str, source: str, text: str) -> list[Node]:
    """Return the nodes of an activation by its text; that between -1 and 1 is no activation of the engine alone."""
    if text == "relu_n1_to_1":
        line = Node(name, "activation", (source,), {"function": activation("piecewise_linear(0.5,0.5)").text})
        return [line, Node(f"{name}-scaled", "rescaling", (name,), {"scales": (2.0,), "offsets": (-1.0,)})]
    return [Node(name, "activation", (source,), {"function": activation(text).text})]


def shape_of(tensor: Tensor) -> Shape:
    """Return the shape of a tensor without its batch: a feature map's, or a vector's.

    Raises:
        ModelError: it is neither, or the file does not know it.
    """
    if tensor.free:
        raise ModelError(
            f"tensor '{tensor.name:.96}' has no fixed size; give --input-size HEIGHTxWIDTH, or all sizes of an input: "
            "--input-shape 1x512"
        )
    try:
        return mapped(tensor.shape)
    except ValueError as error:
        raise ModelError(f"tensor '{tensor.name:.96}' has {error}") from None


def mapped(shape: tuple[int, ...]) -> Shape:
    """Return a shape without its batch. Rows of numbers are a map of height 1; others are tensors for the CPU.

    Raises:
        ValueError: no tensor can have it.
    """
    if math.prod(shape) > MOST_NUMBERS:
        raise ValueError(f"the shape {shape}, more than {MOST_NUMBERS} numbers")
    if len(shape) < 2:
        return (max(math.prod(shape), 1),)
    if not all(shape) or len(shape) > MOST_AXES:
        raise ValueError(f"the shape {shape}; tensors of up to {MOST_AXES} axes, of 1 or more each, can be exported")
    if shape[0] != 1:
        return (1, *shape) if len(shape) == 2 else shape
    return shape if len(shape) == 3 else shape[1:]


def full_shape(tensor: Tensor, shape: Shape) -> tuple[int, ...]:
    """Return the shape of a node as that of the tensor it computes: with the batch, and as many axes."""
    if not tensor.free:
        return tensor.shape
    rank = len(tensor.shape)
    if len(shape) == 1:
        return shape if rank < 2 else (*[1] * (rank - 1), *shape)
    return (1, *shape) if rank > 3 else (1, *shape[-2:]) if rank == 3 else (1, math.prod(shape))
