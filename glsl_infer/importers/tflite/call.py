"""The input of a converter: one operator of a file, for one of its outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node, Shape
from glsl_infer.graph.activations import activation
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.convolutions import Pair, Window, padded_window
from glsl_infer.importers.tflite.model import Operator, Tensor

FUSED = ("linear", "relu", "relu_n1_to_1", "relu(6)")
"""Fused activations of an operator, by their number in the file. LiteRT itself ignores other numbers."""

MOST_NUMBERS = 2**28
"""Largest number of elements of a tensor: as many as fit in a texture of 8192x8192."""

MOST_AXES = 8
"""Largest rank of a tensor, with the batch (``cpu.kernel.LARGEST_RANK``)."""

AROUND = "Around"
"""Option of a fused convolution with its padding in pixels: (top, bottom, left, right)."""

_PADDINGS = ("same", "valid")


@dataclass(frozen=True)
class Call:
    """One operator, for one of its outputs.

    Attributes:
        name: a unique name for its node.
        operator: the operator, as in the file.
        inputs: names of its input nodes.
        shapes: their shapes, without the batch axis.
        constants: its inputs in the file's order, with None for computed tensors.
        tensors: its input tensors in the same order, with None for those left out.
        tensor: its output tensor.
        output: index of the output.
        earlier: the node shared by all outputs of the operator, if an earlier output has added it; else "".
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
        """The type of the operator."""
        return self.operator.kind

    @property
    def shape(self) -> Shape:
        """The shape of the output in the file, without the batch axis.

        Raises:
            ModelError: the file leaves it open.
        """
        return shape_of(self.tensor)

    @property
    def file_shape(self) -> tuple[int, ...]:
        """The shape of its first input, with the batch."""
        tensor = next(tensor for tensor, value in zip(self.tensors, self.constants) if tensor and value is None)
        return full_shape(tensor, self.shapes[0])

    def refused(self, problem: str, advice: str) -> ModelError:
        """Return the error for an unsupported operator: the problem and the advice."""
        return ModelError.layer(self.name, f"{self.kind}: {problem}", advice)

    def option(self, name: str, default: Any = None) -> Any:
        """Return an option.

        Raises:
            ModelError: the option is missing and has no default.
        """
        value = self.operator.options.get(name, default)
        if value is None:
            raise self.refused(f"without its option {name}", "the file is damaged; convert the model anew")
        return value

    def constant(self, index: int, what: str) -> NDArray[Any]:
        """Return the constant of the input at ``index``.

        Raises:
            ModelError: the input is not a constant.
        """
        value = self.constants[index] if index < len(self.constants) else None
        if value is None:
            raise self.refused(f"{what} that the network computes", f"{what} must be a constant of the file")
        return value

    def integers(self, index: int, what: str) -> list[int]:
        """Return the constant at ``index`` as integers."""
        return [int(number) for number in self.constant(index, what).reshape(-1)]

    def weights(self, index: int, what: str, rank: int) -> NDArray[np.float32]:
        """Return the constant at ``index`` as weights.

        Raises:
            ModelError: the input is not a constant, or has another rank.
        """
        value = self.constant(index, what)
        if value.ndim != rank or not value.size:
            raise self.refused(f"{what} of shape {value.shape}", f"{what} must have {rank} axes")
        return np.ascontiguousarray(value, np.float32)

    def bias(self, index: int, outputs: int) -> NDArray[np.float32]:
        """Return the bias at ``index``, or zeros if it is left out."""
        if index >= len(self.operator.inputs) or self.operator.inputs[index] < 0:
            return np.zeros(outputs, np.float32)
        value = self.constant(index, "a bias")
        if value.size != outputs:
            raise self.refused(f"a bias of shape {value.shape} for {outputs} outputs", "make them equal")
        return np.ascontiguousarray(value.reshape(-1), np.float32)

    def feature_map(self, index: int = 0) -> Shape:
        """Return the shape of an input, which must be a feature map.

        Raises:
            ModelError: the input is not a feature map.
        """
        if index >= len(self.shapes) or len(self.shapes[index]) != 3:
            raise self.refused("on no feature map", "give it one tensor with 4 axes that the network computes")
        return self.shapes[index]

    def axis(self, axis: int, index: int = 0) -> int:
        """Return an axis of the file's input at ``index`` as an axis of the first node, which has no batch."""
        tensor, rank = self.tensors[index], len(self.shapes[0])
        own = axis - (0 if tensor is None else len(tensor.shape)) if axis >= 0 else axis
        if tensor is None or not tensor.shape or not -rank <= own < 0:
            raise self.refused(f"along axis {axis}", "the batch stays as it is")
        return own + rank

    def node(self, op: str, attrs: Mapping[str, Any] | None = None, **weights: NDArray[np.float32]) -> Node:
        """Return the node for the operator."""
        return Node(self.name, op, self.inputs, attrs or {}, weights)

    def window(self, size: Pair) -> Window:
        """Return the window of the operator over its first input, a map."""
        strides = (self.option("StrideH"), self.option("StrideW"))
        dilations = (self.option("DilationHFactor", 1), self.option("DilationWFactor", 1))
        shape, kind, around = self.feature_map(), self.option("Padding"), self.option(AROUND, ())
        if kind >= len(_PADDINGS) or min(*size, *strides, *dilations) < 1:
            problem = f"padding {kind}, a window of {size}, strides {strides}, dilation {dilations}"
            raise self.refused(problem, "the file is damaged; convert the model anew")
        window = Window(size, strides, dilations=dilations)
        return replace(window, padding=around) if around else padded_window(_PADDINGS[kind], shape, window)

    def activated(self, nodes: list[Node]) -> list[Node]:
        """Return the nodes, followed by the node of the operator's fused activation, if any."""
        number = self.option("FusedActivationFunction", 0)
        if not number:
            return nodes
        if number >= len(FUSED):
            raise self.refused(f"activation number {number}", f"these can be exported: {', '.join(FUSED)}")
        return [*nodes, *function(f"{self.name}-activation", nodes[-1].name, FUSED[number])]


Converter = Callable[[Call], "list[Node]"]
"""Function from a call to its nodes. The first has the call's name; the last is its output."""


def function(name: str, source: str, text: str, shape: Shape = (1,)) -> list[Node]:
    """Return the nodes of an activation, given as text. In shaders, they are two nodes for the range -1 to 1."""
    drawn = emit.in_textures(shape)
    if text == "relu_n1_to_1" and drawn:
        line = Node(name, "activation", (source,), {"function": activation("piecewise_linear(0.5,0.5)").text})
        return [line, Node(f"{name}-scaled", "rescaling", (name,), {"scales": (2.0,), "offsets": (-1.0,)})]
    function_text = activation("clip(-1.0,1.0)" if text == "relu_n1_to_1" else text).text
    return [Node(name, "activation" if drawn else "tensor_function", (source,), {"function": function_text})]


def shape_of(tensor: Tensor) -> Shape:
    """Return the shape of a tensor without its batch.

    Raises:
        ModelError: tensors cannot have this shape, or the file leaves it open.
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
    """Return a shape without its batch. Rows become a map of height 1; a larger batch is kept, for the CPU.

    Raises:
        ValueError: tensors cannot have this shape.
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
    """Return the shape of a node as that of its tensor in the file: with the batch, and of the same rank."""
    if not tensor.free:
        return tensor.shape
    rank = len(tensor.shape)
    if len(shape) == 1:
        return shape if rank < 2 else (*[1] * (rank - 1), *shape)
    return (1, *shape) if rank > 3 else (1, *shape[-2:]) if rank == 3 else (1, math.prod(shape))
