"""Graph of a bundle of parts for the reference: the graphs of its parts, concatenated.

At each input of a GPU part, a node rounds the tensor to the stored values of the part's texture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from glsl_infer.bundle.cpu_part import CpuPart
from glsl_infer.bundle.manifest import PICTURE, Input
from glsl_infer.bundle.parted_ends import TensorOutput
from glsl_infer.graph import Graph, GraphOutput, Node
from glsl_infer.graph.host_steps import HostStep
from glsl_infer.program.layout import FeatureMap

if TYPE_CHECKING:
    from glsl_infer.bundle.bundle import Bundle


def graph(bundle: Bundle) -> Graph:
    """Return the graph of a bundle of parts.

    Raises:
        ModelError: the parts' graphs do not fit together.
        BundleError: a part's layers and weights do not fit together.
    """
    nodes: dict[str, Node] = {}
    given = {entry.name: entry for entry in bundle.manifest.inputs}
    steps: dict[str, tuple[tuple[str, ...], tuple[HostStep, ...]]] = {}
    for number, part in enumerate(bundle.parts):
        if isinstance(part, CpuPart):
            for name in part.inputs:
                if name in given and name not in nodes:
                    nodes[name] = _input(given[name])
            nodes.update({node.name: node for node in part.nodes})
            continue
        renamed: dict[str, str] = {}
        inner = part.graph
        for node in inner.nodes:
            if not node.operator.is_input:
                inputs = tuple(renamed.get(name, name) for name in node.inputs)
                nodes[node.name] = replace(node, inputs=inputs)
            elif node.name in given and nodes.get(node.name, node) == node:
                nodes[node.name] = node
            else:
                renamed[node.name] = f"{node.name}@{number}"
                nodes[renamed[node.name]] = _upload(node, renamed[node.name])
        for output in inner.outputs:
            if output.steps or output.layers != (output.name,):
                steps[output.name] = (tuple(renamed.get(name, name) for name in output.layers), output.steps)
    return Graph(bundle.manifest.name, _in_order(nodes), [_output(output, steps) for output in _outputs(bundle)])


def _outputs(bundle: Bundle) -> list[TensorOutput]:
    return [output for output in bundle.manifest.outputs if isinstance(output, TensorOutput)]


def _output(output: TensorOutput, steps: Mapping[str, tuple[tuple[str, ...], tuple[HostStep, ...]]]) -> GraphOutput:
    """Return an output of the bundle. The host steps of a GPU part on its only tensor come before the output's own."""
    if len(output.tensors) == 1 and output.tensors[0] in steps:
        layers, before = steps[output.tensors[0]]
        return GraphOutput(output.name, layers, (*before, *output.steps), output.purpose)
    return GraphOutput(output.name, output.tensors, output.steps, output.purpose)


def _input(entry: Input) -> Node:
    """Return the input node for an input with a CPU part as its first reader."""
    if entry.kind != PICTURE:
        return Node(entry.name, "tensor_input", (), {"shape": entry.shape})
    assert isinstance(entry.value, FeatureMap)
    meaning = {"scales": entry.value.scales, "zeros": entry.value.zeros}
    return Node(entry.name, "input", (), {"shape": entry.shape, "fit": entry.fit, **meaning})


def _upload(node: Node, name: str) -> Node:
    """Return the node that rounds a tensor like an input of a GPU part."""
    keys = ("scale",) if "scale" in node.attrs else ("scales", "zeros")
    attrs: dict[str, Any] = {key: node.attrs[key] for key in keys}
    return Node(name, "upload16" if keys == ("scale",) else "upload8", (node.name,), attrs)


def _in_order(nodes: Mapping[str, Node]) -> list[Node]:
    """Return the nodes with the inputs first; the parts are already in order."""
    inputs = [node for node in nodes.values() if node.operator.is_input]
    return [*inputs, *(node for node in nodes.values() if not node.operator.is_input)]
