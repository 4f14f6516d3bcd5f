"""Network of a model file after each stage of compilation, from the imported graph to the passes of the program.

Layers whose ranges require calibration images have an assumed range here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from glsl_infer.compiler import lower
from glsl_infer.compiler.delegate.build import gpu_graph
from glsl_infer.compiler.dry_run import ASSUMED, assume_input_ranges
from glsl_infer.compiler.optimize import optimize
from glsl_infer.compiler.place import place
from glsl_infer.compiler.ranges import Calibration, prepare
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE
from glsl_infer.support.plain_text import sides

IMPORTED, OPTIMIZED, PLACED, WITH_RANGES, PLANNED, PROGRAM = (
    "imported", "optimized", "placed", "with-ranges", "planned", "program",
)  # fmt: skip

_LONGEST = 6
"""Largest number of elements displayed of an attribute."""


@dataclass(frozen=True)
class StageNode:
    """A node of a graph at a stage, or a pass of the program.

    Attributes:
        name: name of the node; the layer of a pass.
        op: its operator; the shader program of a pass.
        shape: shape of its output, without the batch; (width, height) of the target of a pass.
        inputs: names of the nodes or textures it reads.
        attrs: its attributes with other values than their defaults; when planned, its texture, the size of the texture,
            its draws, and the place of its weights; the target, quads and clear of a pass.
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


def nodes_at(graph: Graph, stage: str) -> list[StageNode]:
    """Return the nodes of an imported graph after a stage, in the order of execution; or the passes of its program.

    Raises:
        ModelError: a layer that cannot be exported, by name, at a stage after placement.
    """
    if stage == IMPORTED:
        return [_node(graph, node) for node in graph.nodes]
    graph = optimize(graph)
    if stage == OPTIMIZED:
        return [_node(graph, node) for node in graph.nodes]
    parts = place(graph)
    nodes = [_node(graph, node) for node in graph.nodes if node.operator.is_input] if stage == PLACED else []
    for number, part in enumerate(parts, 1):
        label = f"{number} {'cpu' if part.on_cpu else 'gpu'}"
        if part.on_cpu or stage == PLACED:
            nodes += [_node(graph, graph.by_name[name], label) for name in part.nodes]
        else:
            nodes += _gpu_nodes(graph if len(parts) == 1 else gpu_graph(graph, part, {}, calibrated=True), stage, label)
    return nodes


def _gpu_nodes(graph: Graph, stage: str, label: str) -> Iterator[StageNode]:
    """Yield the nodes of a GPU part with ranges or as planned, or the passes of its program."""
    assumed = Calibration(assumed=ASSUMED)
    prepared = prepare(assume_input_ranges(optimize(graph)), assumed).graph
    if stage == WITH_RANGES:
        yield from (_node(prepared, node, label) for node in prepared.nodes)
        return
    program = lower.to_program(prepared)
    sizes = {texture.name: (texture.width, texture.height) for texture in program.textures}
    if stage == PROGRAM:
        for draw in program.passes:
            attrs = {"target": draw.target, "quads": len(draw.quads), **({"clear": True} if draw.clear else {})}
            yield StageNode(draw.layer, draw.program, sizes[draw.target], draw.textures, attrs, {}, label)
        return
    modes = {choice.layer: choice.mode for choice in program.choices.values()}
    draws = Counter(draw.layer for draw in program.passes)
    for node in program.graph.nodes:
        texture = next((draw.target for draw in program.passes if draw.layer == node.name), "")
        attrs = {"texture": texture, "size": sides(sizes[texture]), "draws": draws[node.name]} if texture else {}
        if node.name in modes:
            attrs["weights"] = modes[node.name]
        yield replace(_node(program.graph, node, label), attrs=attrs, weights={})


def _node(graph: Graph, node: Node, part: str = "") -> StageNode:
    attrs = {
        key: value
        for key, value in node.attrs.items()
        if key not in (NORMAL, OBSERVED_RANGE) and value != node.operator.attrs.get(key)
    }
    weights = {name: array.shape for name, array in node.weights.items()}
    return StageNode(node.name, node.op, graph.shapes[node.name], node.inputs, attrs, weights, part)


def lines_of(nodes: list[StageNode]) -> Iterator[str]:
    """Yield a line for each node, and one before each part."""
    name, op = (max(len(getattr(node, key)) for node in nodes) for key in ("name", "op"))
    part = ""
    for node in nodes:
        if node.part != part:
            part = node.part
            yield f"part {part}"
        shape = sides(node.shape)
        options = " ".join(f"{key}={_short(value)}" for key, value in node.attrs.items())
        weights = " ".join(f"{key}[{'x'.join(map(str, size))}]" for key, size in node.weights.items())
        read = f"<- {', '.join(node.inputs)}" if node.inputs else ""
        yield f"  {node.name:{name}}  {node.op:{op}}  {shape:>12}  {read}  {options} {weights}".rstrip()


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        items = ",".join(_short(item) for item in value[:_LONGEST])
        return f"({items}{',...' if len(value) > _LONGEST else ''})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
