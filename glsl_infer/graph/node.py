"""A node of a graph, and the types of shapes and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glsl_infer.graph.activations import Activation, activation
from glsl_infer.graph.operators import NodeOperator, operator
from glsl_infer.support.ndarray import NDArray

Shape = tuple[int, ...]
"""``(height, width, channels)`` of a feature map, ``(length,)`` of a vector, ``(columns, length)`` of partial sums.
There is no batch axis."""

OBSERVED_RANGE = "seen"
"""Attribute of imported nodes: the (lowest, highest) value stored in the model file. ``prepare`` replaces it by a
range."""

NORMAL = "normal"
"""Attribute of optimised nodes: (means, deviations) per channel of the sums before residual and activation, as the
batch norm implies them. ``prepare`` replaces it by a range."""

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Node:
    """One operation and its only output, which has the name of the node.

    Attributes:
        name: unique in the graph; usually the name of a Keras layer.
        op: name of a module of ``glsl_infer.ops``.
        inputs: names of the nodes whose outputs it reads.
        attrs: settings (numbers, strings, tuples).
        weights: float32 arrays, in Keras' axis order.
    """

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def operator(self) -> NodeOperator:
        """The operator.

        Raises:
            ModelError: ``op`` is not the name of an operator.
        """
        return operator(self.op)

    @property
    def activation(self) -> Activation:
        """The activation applied to its result: attribute ``activation`` or ``function``, by default ``linear``.

        Raises:
            ValueError: the attribute is not an activation.
        """
        return activation(self.attrs.get("activation", self.attrs.get("function", "linear")))

    def with_activation(self, function: Activation) -> Node:
        """Return the node with another activation; its operator must support one."""
        key = "function" if "function" in self.attrs else "activation"
        return self.with_attrs(**{key: function.text})

    def with_attrs(self, **attrs: Any) -> Node:
        """Return the node with some attributes replaced; the node itself if it has these values."""
        if all(key in self.attrs and self.attrs[key] is value for key, value in attrs.items()):
            return self
        return replace(self, attrs={**self.attrs, **attrs})

    def complete(self) -> Node:
        """Return the node with its operator's attributes first, defaults for those that it leaves out."""
        if "_is_complete" in self.__dict__:
            return self
        attrs = {**self.operator.attrs, **self.attrs}
        node = self if [*attrs] == [*self.attrs] else replace(self, attrs=attrs)
        node.__dict__["_is_complete"] = True
        return node

    def shape(self, inputs: list[Shape]) -> Shape:
        """Return the shape of the output, by the operator's rule.

        A search for maps in 16 bits builds hundreds of graphs from the same nodes, so a node keeps its last shape.

        Raises:
            ModelError: shapes, attributes and weights do not fit together.
        """
        before: tuple[list[Shape], Shape] | None = self.__dict__.get("_shape")
        if before is None or before[0] != inputs:
            before = inputs, self.operator.shape(self, inputs)
            self.__dict__["_shape"] = before
        return before[1]
