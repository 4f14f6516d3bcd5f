"""Construction of the nodes for one operator of a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.graph import Node, Shape
from glsl_infer.graph.activations import activation
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.constants import with_constant
from glsl_infer.ops.operator import CopyOperator
from glsl_infer.program.layout import TEXTURE_RANKS

MOST_NUMBERS = 2**28
"""Largest number of elements of a tensor: as many as fit in a texture of 8192x8192."""


class Nodes:
    """Factory for nodes with unique names. The first node has the name of the operator.

    Args:
        builder: all nodes so far.
        name: a unique name, already reserved.
    """

    def __init__(self, builder: GraphBuilder, name: str) -> None:
        self._builder, self.name = builder, name
        self._first = True

    def shape(self, node: str) -> Shape:
        """Return the shape of the result of a node."""
        return self._builder.shapes[node]

    def emit(
        self,
        op: str,
        *sources: str,
        part: str = "",
        weights: Mapping[str, NDArray[Any]] | None = None,
        **attrs: Any,
    ) -> str:
        """Create a node, and return its name.

        Args:
            op: its operator.
            sources: names of its input nodes.
            part: suffix of its name, unless it is the first node.
            weights: its arrays.
            attrs: its attributes.

        Raises:
            ModelError: the node's inputs or attributes do not match.
        """
        name = self.new_name(part or op)
        self._first = False
        arrays = {key: np.ascontiguousarray(value, np.float32) for key, value in (weights or {}).items()}
        return self._builder.add([Node(name, op, sources, attrs, arrays)])

    def new_name(self, part: str) -> str:
        """Return a name for the next node: that of the operator for its first node, else one with a suffix."""
        return self.name if self._first else self._builder.free_name(f"{self.name}-{part}")

    def add(self, nodes: list[Node]) -> str:
        """Add nodes that refer to each other, the first called by a new name; return the name of the last."""
        self._first = False
        return self._builder.add(nodes)

    def shaped(self, node: str, shape: Shape) -> str:
        """Return a node with the same values in another shape."""
        if self.shape(node) == shape:
            return node
        assert math.prod(self.shape(node)) == math.prod(shape)
        in_textures = {len(shape), len(self.shape(node))} <= set(TEXTURE_RANKS)
        return self.emit("reshape" if in_textures else "tensor_reshape", node, part="shape", shape=shape)

    def function(self, node: str, text: str) -> str:
        """Return a node that applies an activation, given as text, to another node."""
        function = activation(text).text
        op = "activation" if self.in_textures(node) else "tensor_function"
        return self.emit(op, node, part=text.partition("(")[0], function=function)

    def affine(self, node: str, scales: NDArray[Any], offsets: NDArray[Any]) -> str:
        """Return a node for ``scales * x + offsets``. The arrays broadcast to the node's shape."""
        if self.in_textures(node) and all(_per_channel(array) for array in (scales, offsets)):
            parameters = [tuple(np.asarray(array, np.float64).reshape(-1).tolist()) for array in (scales, offsets)]
            return self.emit("rescaling", node, part="scaled", scales=parameters[0], offsets=parameters[1])
        for operation, value, neutral in (("multiply", scales, 1.0), ("add", offsets, 0.0)):
            if (value != neutral).any():
                node = self.with_constant(operation, node, value)
        return node if self._is_own(node) else self.emit("identity", node)

    def scaled(self, node: str, scale: float, offset: float = 0.0) -> str:
        """Return a node for ``scale * x + offset``."""
        return self.affine(node, np.asarray([scale]), np.asarray([offset]))

    def with_constant(self, operation: str, node: str, value: NDArray[Any], *, first: bool = False) -> str:
        """Return a node for an operation on another and a constant, which broadcasts to its shape."""
        return self.add(with_constant(self.new_name(operation), node, self.shape(node), operation, value, first=first))

    def constant(self, operation: str, node: str, value: NDArray[Any], *, first: bool = False) -> str:
        """Return a node for an operation on another and a constant, on the CPU, without leading axes of 1."""
        while 1 < value.ndim <= len(self.shape(node)) and value.shape[0] == 1:
            value = value[0]
        return self.emit(
            "tensor_binary",
            node,
            part=operation,
            weights={"constant": value},
            operation=operation,
            constant_first=first,
        )

    def _is_own(self, node: str) -> bool:
        return node == self.name or node.startswith(f"{self.name}-")

    def is_positive(self, node: str, *, inputs: bool = True) -> bool:
        """Return whether all values of a node are at least 0.

        Args:
            node: its name.
            inputs: whether the values of inputs are, because the user controls them.
        """
        by_name = {other.name: other for other in self._builder.nodes}
        while True:
            maker = by_name[node]
            kind = ops.get(maker.op)
            if maker.op in ("activation", "tensor_function"):
                return maker.activation.low >= 0.0
            if maker.operator.is_input:
                return inputs
            if maker.op.endswith(("softmax", "argmax")):
                return True
            moves = kind.only_reshapes or kind.keeps_range or isinstance(kind, CopyOperator)
            if not moves or len(maker.inputs) != 1:
                return False
            (node,) = maker.inputs

    def in_textures(self, node: str) -> bool:
        """Return whether a node is a vector or a map, which textures can store."""
        return len(self.shape(node)) in TEXTURE_RANKS


def _per_channel(value: NDArray[Any]) -> bool:
    """Return whether an array is a scalar, or has one value per index of the last axis."""
    return value.size == 1 or (value.ndim > 0 and value.size == value.shape[-1])
