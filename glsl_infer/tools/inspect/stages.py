"""Graph of a model file after each stage of compilation: imported, optimised, divided into parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.place import place
from glsl_infer.graph import Graph
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE

IMPORTED, OPTIMIZED, PLACED = STAGES = ("imported", "optimized", "placed")

_LONGEST = 6
"""Largest number of elements displayed of an attribute."""


@dataclass(frozen=True)
class StageNode:
    """A node of a graph at a stage.

    Attributes:
        name: name of the node.
        op: its operator.
        shape: shape of its output, without the batch.
        inputs: names of the nodes it reads.
        attrs: its attributes with other values than their defaults.
        weights: the shapes of its weights.
        part: the number of its part and its side, ``1 gpu``; empty before placement, and for inputs.
    """

    name: str
    op: str
    shape: tuple[int, ...]
    inputs: tuple[str, ...]
    attrs: Mapping[str, Any]
    weights: Mapping[str, tuple[int, ...]]
    part: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return asdict(self)


def nodes_at(graph: Graph, stage: str) -> list[StageNode]:
    """Return the nodes of an imported graph after a stage, in the order of execution."""
    if stage != IMPORTED:
        graph = optimize(graph)
    parts = {}
    if stage == PLACED:
        for number, part in enumerate(place(graph), 1):
            parts.update(dict.fromkeys(part.nodes, f"{number} {'cpu' if part.on_cpu else 'gpu'}"))
    ordered = sorted(graph.nodes, key=lambda node: int(parts.get(node.name, "0").partition(" ")[0]))
    return [
        StageNode(
            node.name,
            node.op,
            graph.shapes[node.name],
            node.inputs,
            {
                key: value
                for key, value in node.attrs.items()
                if key not in (NORMAL, OBSERVED_RANGE) and value != node.operator.attrs.get(key)
            },
            {name: array.shape for name, array in node.weights.items()},
            parts.get(node.name, ""),
        )
        for node in ordered
    ]


def lines_of(nodes: list[StageNode]) -> Iterator[str]:
    """Yield a line for each node, and one before each part."""
    name, op = (max(len(getattr(node, key)) for node in nodes) for key in ("name", "op"))
    part = ""
    for node in nodes:
        if node.part != part:
            part = node.part
            yield f"part {part}"
        shape = "x".join(map(str, node.shape)) or "1"
        options = " ".join(f"{key}={_short(value)}" for key, value in node.attrs.items())
        weights = " ".join(f"{key}[{'x'.join(map(str, size))}]" for key, size in node.weights.items())
        read = f"<- {', '.join(node.inputs)}" if node.inputs else ""
        yield f"  {node.name:{name}}  {node.op:{op}}  {shape:>12}  {read}  {options} {weights}".rstrip()


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        items = ",".join(_short(each) for each in value[:_LONGEST])
        return f"({items}{',...' if len(value) > _LONGEST else ''})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
