"""One operation of a network, and the types that everything else is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from glsl_infer.graph.activations import Activation, activation
from glsl_infer.graph.operators import NodeOperator, operator
from glsl_infer.support.ndarray import NDArray

Shape = tuple[int, ...]
"""``(height, width, channels)`` of a feature map, ``(length,)`` of a vector,
``(columns, length)`` of partial sums. There is no batch axis."""

SEEN = "seen"
"""Attribute of a node of an imported graph: the (lowest, highest) value that the file says it has. A prepared graph has
ranges in its place."""

NORMAL = "normal"
"""Attribute of a node of an optimised graph whose batch norm says what its sums are like, before a residual and the
activation: (means, deviations), a number for each channel in both. A prepared graph has ranges in its place."""

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Node:
    """One operation and its single output, which bears the node's name.

    Attributes:
        name: unique in the graph; usually a Keras layer's name.
        op: name of a module in ``glsl_infer.ops``.
        inputs: names of the nodes whose outputs it reads.
        attrs: plain settings (numbers, strings, tuples).
        weights: float32 arrays, in Keras' own axis order.
    """

    name: str
    op: str
    inputs: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def operator(self) -> NodeOperator:
        """What computes it.

        Raises:
            ModelError: no operator has the name ``op``.
        """
        return operator(self.op)

    @property
    def activation(self) -> Activation:
        """The function that it applies at its end: its attribute ``activation`` or ``function``, or else ``linear``.

        Raises:
            ValueError: the attribute names none.
        """
        return activation(self.attrs.get("activation", self.attrs.get("function", "linear")))

    def with_activation(self, function: Activation) -> Node:
        """Return the node with another function at its end, if it has a place for one."""
        key = "function" if "function" in self.attrs else "activation"
        return self.with_attrs(**{key: function.text})

    def with_attrs(self, **attrs: Any) -> Node:
        """Return the node with some attributes set anew."""
        return replace(self, attrs={**self.attrs, **attrs})
