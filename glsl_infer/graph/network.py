"""A network as data: nodes that name their inputs, and the shapes that follow.

A graph says what is computed, never how: no texture, no shader, no limit of a GPU. The importer makes
one, ``optimize`` makes simpler ones from it, ``lowering`` turns the last into draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from glsl_infer.errors import ModelError
from glsl_infer.graph.node import Node, Shape


@dataclass(frozen=True)
class Graph:
    """Nodes in an order in which each comes after its inputs, and the name of the output.

    Attributes that a node leaves out get their operator's defaults.

    Raises:
        ModelError: on construction, when a name is missing or used twice, an operator is unknown, or
            shapes and weights do not fit together.
    """

    name: str
    nodes: tuple[Node, ...]
    output: str

    def __post_init__(self) -> None:
        complete = tuple(replace(node, attrs={**node.operator.attrs, **node.attrs}) for node in self.nodes)
        object.__setattr__(self, "nodes", complete)
        seen: set[str] = set()
        for node in self.nodes:
            if node.name in seen:
                raise ModelError.layer(node.name, "the name is used twice", "give every layer its own name")
            missing = [name for name in node.inputs if name not in seen]
            if missing:
                raise ModelError.layer(
                    node.name, f"reads {missing}, which no earlier layer computes", "check the order"
                )
            seen.add(node.name)
        if self.output not in seen:
            raise ModelError(f"model '{self.name}': no layer is named '{self.output}', the output")
        _ = self.shapes

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return MappingProxyType({node.name: node for node in self.nodes})

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """Output shape of every node, inferred in order."""
        shapes: dict[str, Shape] = {}
        for node in self.nodes:
            shapes[node.name] = node.operator.shape(node, [shapes[name] for name in node.inputs])
        return MappingProxyType(shapes)

    @cached_property
    def consumers(self) -> Mapping[str, tuple[Node, ...]]:
        """Nodes that read each output (a node that reads it twice stands there twice)."""
        readers: dict[str, list[Node]] = {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for name in node.inputs:
                readers[name].append(node)
        return MappingProxyType({name: tuple(found) for name, found in readers.items()})

    @property
    def input(self) -> Node:
        """The only input node.

        Raises:
            ModelError: there are none or several.
        """
        inputs = [node for node in self.nodes if node.op == "input"]
        if len(inputs) != 1:
            raise ModelError(f"model '{self.name}' has {len(inputs)} inputs; exactly one picture is supported")
        return inputs[0]

    def rebuilt(self, nodes: Iterable[Node], renamed: Mapping[str, str] | None = None) -> Graph:
        """Return a graph of other nodes, with references to ``renamed`` names following them."""
        renamed = renamed or {}

        def follow(name: str) -> str:
            while name in renamed:
                name = renamed[name]
            return name

        rewired = tuple(replace(node, inputs=tuple(follow(name) for name in node.inputs)) for node in nodes)
        return Graph(self.name, rewired, follow(self.output))

    def __str__(self) -> str:
        lines = [f"{self.name} -> {self.output}"]
        for node in self.nodes:
            shape = "x".join(map(str, self.shapes[node.name]))
            attrs = " ".join(f"{key}={value}" for key, value in node.attrs.items())
            lines.append(f"  {node.name:24} {node.op:20} {shape:>12}  {', '.join(node.inputs)}  {attrs}".rstrip())
        return "\n".join(lines)
