"""Placement of nodes on the GPU or the CPU, and the resulting parts of a network.

A node runs on the GPU if an operator with a shader supports its shapes and attributes, else on the CPU. The graph is
then cut into parts that alternate between the two. Nodes that are cheap on either side join the part of their inputs,
to keep the number of parts low. If only GPU nodes read such a node, the GPU computes it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from glsl_infer import cpu, ops
from glsl_infer.errors import InputError
from glsl_infer.graph import Array, Graph, Node, Shape
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE
from glsl_infer.ops.on_cpu import range_keys
from glsl_infer.ops.operator import GraphOnlyOperator, ViewOperator
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, TEXTURE_RANKS
from glsl_infer.support.near_names import choices, did_you_mean

SHADER, CPU = "shader", "CPU"
_EITHER = "either"


@dataclass(frozen=True)
class Part:
    """Nodes to compute together, in the graph's order.

    Attributes:
        on_cpu: whether NumPy computes them; else they are a program of shaders.
        nodes: their names.
    """

    on_cpu: bool
    nodes: tuple[str, ...]


def place_of(node: Node) -> str:
    """Return the side on which a node of an optimised graph runs: ``SHADER`` or ``CPU``."""
    operator = ops.get(node.op)
    return SHADER if operator.has_shader or operator.staged else CPU


def cpu_layers(graph: Graph) -> tuple[str, ...]:
    """Return the names of the nodes of an optimised graph without a shader, in the graph's order."""
    return tuple(node.name for node in graph.nodes if not node.operator.is_input and _needs_cpu(graph, node))


def place(graph: Graph, chosen: Collection[str] = (), *, delegate: bool = True) -> tuple[Part, ...]:
    """Cut an optimised graph into parts, in the order in which they run.

    Args:
        graph: the graph.
        chosen: nodes to compute on the CPU, in addition to those without a shader.
        delegate: compute nodes without a shader on the CPU; else the compiler refuses them.

    Returns:
        The parts; a single one for the GPU if the CPU computes nothing.
    """
    on_cpu = {*(cpu_layers(graph) if delegate else ()), *chosen}
    sides = {
        node.name: CPU if node.name in on_cpu else _side(graph, node)
        for node in graph.nodes
        if not (node.operator.is_input or _is_constant(node))
    }
    parts = _fewest(graph, sides)
    if all(part.on_cpu for part in parts):  # The GPU can compute only cheap nodes.
        parts = _fewest(graph, {name: SHADER if side == _EITHER else side for name, side in sides.items()})
    return parts


def _needs_cpu(graph: Graph, node: Node) -> bool:
    operator, shape = ops.get(node.op), graph.shapes[node.name]
    if operator.on_cpu or (isinstance(operator, GraphOnlyOperator) and not operator.staged):
        return True
    if any(_exceeds_textures(graph.shapes[name]) for name in (node.name, *node.inputs)):
        return True
    return len(shape) == 1 and "scale" not in operator.attrs and not operator.staged


def _exceeds_textures(shape: Shape) -> bool:
    """Return whether a tensor has another rank than a vector or a map, or a side above the texture size limit."""
    return len(shape) not in TEXTURE_RANKS or (len(shape) == 3 and max(shape[:2]) > MAX_TEXTURE_SIZE)


def _is_constant(node: Node) -> bool:
    return ops.get(node.op).is_constant


def _side(graph: Graph, node: Node) -> str:
    """Return the side for a node with a shader: ``SHADER``, or ``either`` if it is cheap on both."""
    if isinstance(ops.get(node.op), ViewOperator):
        return _EITHER
    if any(graph.by_name[name].operator.is_input for name in node.inputs):
        return SHADER  # The GPU scales pictures to the input's size, and stores them in 8 bits.
    return SHADER if _adds_up(node) else _EITHER


def _adds_up(node: Node) -> bool:
    """Return whether a node has a kernel with more than one weight for each of its values; else it only scales."""
    operator, kernel = ops.get(node.op), node.weights.get("kernel")
    scales = kernel is not None and kernel.ndim == 4 and math.prod(kernel.shape[:3]) == 1
    return (operator.has_kernel or operator.convolves) and not scales


def _fewest(graph: Graph, sides: Mapping[str, str]) -> tuple[Part, ...]:
    """Return the shorter sequence of parts of the two in which the GPU or the CPU begins."""
    gpu_first, cpu_first = (_taking_turns(graph, sides, first) for first in (0, 1))
    return cpu_first if len(cpu_first) < len(gpu_first) else gpu_first


def _taking_turns(graph: Graph, sides: Mapping[str, str], first: int) -> tuple[Part, ...]:
    """Return the parts if the GPU (0) or the CPU (1) begins. Each turn takes all nodes whose inputs are available."""
    turns: dict[str, int] = {}

    def on_cpu(turn: int) -> bool:
        return (turn + first) % 2 == 1

    for node in graph.nodes:
        if node.name in sides:
            ready = max((turns[name] for name in node.inputs if name in turns), default=0)
            fits = sides[node.name] in (_EITHER, CPU if on_cpu(ready) else SHADER)
            turns[node.name] = ready if fits else ready + 1
    for node in reversed(graph.nodes):
        if sides.get(node.name) != _EITHER or node.name in graph.output_layers or not on_cpu(turns[node.name]):
            continue
        readers = {turns[reader.name] for reader in graph.consumers[node.name]}
        if readers and not any(map(on_cpu, readers)):
            turns[node.name] = min(readers)
    return tuple(_parts(graph, turns, on_cpu))


def _parts(graph: Graph, turns: Mapping[str, int], on_cpu: Callable[[int], bool]) -> Iterator[Part]:
    """Yield a part for each turn. Constants join their first reader."""
    waiting = {node.name for node in graph.nodes if _is_constant(node)}
    names: dict[int, list[str]] = {turn: [] for turn in sorted(set(turns.values()))}
    for turn, turn_names in names.items():
        for node in graph.nodes:
            if turns.get(node.name) == turn:
                constants = [name for name in dict.fromkeys(node.inputs) if name in waiting]
                waiting.difference_update(constants)
                turn_names += [*constants, node.name]
        yield Part(on_cpu(turn), tuple(turn_names))


def anchored(graph: Graph) -> Graph:
    """Return the graph with its first input as the input of each constant: every node of a part must read one."""
    first = graph.inputs[0].name
    return graph.rebuilt(
        replace(node, inputs=node.inputs or (first,)) if _is_constant(node) else node for node in graph.nodes
    )


def reads(graph: Graph, part: Part) -> tuple[str, ...]:
    """Return the nodes outside of a part that its nodes read, in the graph's order."""
    external_inputs = {name for node_name in part.nodes for name in graph.by_name[node_name].inputs} - set(part.nodes)
    return tuple(node.name for node in graph.nodes if node.name in external_inputs)


def makes(graph: Graph, part: Part) -> tuple[str, ...]:
    """Return the nodes of a part that are read by other parts or are outputs of the network."""
    inside, outputs = set(part.nodes), set(graph.output_layers)
    return tuple(
        name
        for name in part.nodes
        if name in outputs or any(reader.name not in inside for reader in graph.consumers[name])
    )


def named_layers(graph: Graph, names: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes that compute the layers which the user moves to the CPU.

    Args:
        graph: an optimised graph, in which a node can compute several layers.
        names: names of layers of the original network.

    Raises:
        InputError: an unknown layer, a layer removed by the optimiser, an input or a constant.
    """
    owners = {layer: node.name for node in graph.nodes for layer in (*node.attrs.get("fused", ()), node.name)}
    without_side = {node.name for node in graph.nodes if node.operator.is_input or _is_constant(node)}
    for name in names:
        if owners.get(name, name) in without_side or name not in owners:
            layers = [node.name for node in graph.nodes if node.name not in without_side]
            suggestion = did_you_mean(name, layers)
            raise InputError(
                f"--delegate-for {name}: no layer of that name computes{suggestion}; there are: {choices(layers)}"
            )
    return tuple(dict.fromkeys(owners[name] for name in names))


def move_to_cpu(node: Node) -> Node:
    """Return a node in the form of CPU parts: as a kernel with the same result, or as ``cpu:NAME``."""
    if ops.get(node.op).on_cpu:
        return replace(
            node, attrs={key: value for key, value in node.attrs.items() if key not in (NORMAL, OBSERVED_RANGE)}
        )
    kernel = _KERNELS.get(node.op)
    replacement = kernel(node) if kernel is not None else None
    if replacement is not None:
        op, attrs, weights = replacement
        return replace(node, op=op, attrs=attrs, weights=weights)
    dropped = (*range_keys(ops.get(node.op)), "fused", NORMAL, OBSERVED_RANGE)
    attrs = {key: value for key, value in node.attrs.items() if key not in dropped}
    return replace(node, op=f"{cpu.FORCED}{node.op}", attrs=attrs)


_Kernel = tuple[str, dict[str, Any], Mapping[str, Array]]


def _binary(operation: Callable[[Node], str]) -> Callable[[Node], _Kernel | None]:
    def kernel(node: Node) -> _Kernel | None:
        if len(node.inputs) != 2 or node.activation != LINEAR:
            return None
        return "tensor_binary", {"operation": operation(node), "constant_first": False}, {}

    return kernel


_KERNELS: Mapping[str, Callable[[Node], _Kernel | None]] = {
    "activation": lambda node: ("tensor_function", {"function": node.attrs["function"]}, {}),
    "add": _binary(lambda node: "add"),
    "binary": _binary(lambda node: str(node.attrs["operation"])),
    "concat": lambda node: ("tensor_concat", {"axis": -1}, {}) if len(node.inputs) > 1 else None,
    "reshape": lambda node: ("tensor_reshape", {"shape": node.attrs["shape"]}, {}),
    "softmax": lambda node: ("tensor_softmax", {"axis": -1}, {}),
    "transpose": lambda node: ("tensor_transpose", {"axes": (1, 0, 2)}, {}),
}
"""For an operator with a shader: a function from a node to the kernel, attributes and weights of the same function.

The function returns None without an equivalent kernel.
"""


def described(graph: Graph, layers: Collection[str]) -> str:
    """Return the operators of some layers as text, each with its count."""
    counts = Counter(node.op for node in graph.nodes if node.name in layers)
    return ", ".join(f"{count} {op}" for op, count in counts.items())
