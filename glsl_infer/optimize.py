"""Graph -> graph: the same function with fewer nodes.

Every step is a pure function; ``optimize`` runs them in order. None knows anything of textures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Graph, Node
from glsl_infer.ops.batch_norm import scale_and_offset
from glsl_infer.ops.channel_shuffle import shuffle_order


def optimize(graph: Graph) -> Graph:
    """Run all steps.

    A convolution then carries everything up to its activation, in this order: folded batch norm, residual,
    activation. Fused nodes are listed in its attribute ``fused``; the last of them is the layer of the
    original network whose output the node now computes.
    """
    for step in STEPS:
        graph = step(graph)
    return graph


def drop_identities(graph: Graph) -> Graph:
    """Remove dropout, linear activations, shuffles that keep the order, empty padding, flattened vectors."""
    renamed: dict[str, str] = {}
    kept = []
    for node in graph.nodes:
        if node.op != "input" and _is_identity(graph, node):
            renamed[node.name] = node.inputs[0]
        else:
            kept.append(node)
    return graph.rebuilt(kept, renamed)


def drop_final_softmax(graph: Graph) -> Graph:
    """Remove a softmax that is the output: runners return logits."""
    last = graph.by_name[graph.output]
    if last.op != "softmax":
        return graph
    return graph.rebuilt([node for node in graph.nodes if node is not last], {last.name: last.inputs[0]})


def merge_padding(graph: Graph) -> Graph:
    """Let convolutions pad for themselves instead of reading a padded copy."""

    def merged(graph: Graph, node: Node, before: Node) -> Node | None:
        if before.op != "zero_padding" or node.op != "conv2d" or node.inputs.count(before.name) != 1:
            return None
        if node.inputs[0] != before.name:
            return None
        padding = tuple(a + b for a, b in zip(before.attrs["padding"], node.attrs["padding"]))
        inputs = (before.inputs[0], *node.inputs[1:])
        return replace(node.with_attrs(padding=padding), inputs=inputs)

    return _absorb(graph, merged, keep_first_name=False)


def fold_batch_norm(graph: Graph) -> Graph:
    """Multiply batch norm into the convolution or dense layer before it; alone it becomes a 1x1 convolution."""

    def folded(graph: Graph, node: Node, before: Node) -> Node | None:
        if node.op != "batch_norm" or before.op not in ("conv2d", "dense"):
            return None
        if before.attrs.get("activation", "linear") != "linear" or len(before.inputs) != 1:
            return None
        scale, offset = scale_and_offset(node)
        weights = {
            "kernel": (before.weights["kernel"].astype(np.float64) * scale).astype(np.float32),
            "bias": (before.weights["bias"].astype(np.float64) * scale + offset).astype(np.float32),
        }
        return _fused(replace(before, weights=weights), node)

    graph = _absorb(graph, folded, keep_first_name=True)
    return graph.rebuilt([_as_convolution(graph, node) for node in graph.nodes])


def fuse_residual(graph: Graph) -> Graph:
    """Let a convolution add its residual itself."""

    def with_residual(graph: Graph, node: Node, before: Node) -> Node | None:
        if node.op != "add" or before.op != "conv2d" or len(node.inputs) != 2 or len(before.inputs) != 1:
            return None
        if before.attrs["activation"] != "linear" or node.inputs[0] == node.inputs[1]:
            return None
        (residual,) = (name for name in node.inputs if name != before.name)
        return _fused(replace(before, inputs=(before.inputs[0], residual)), node)

    return _absorb(graph, with_residual, keep_first_name=True)


def fuse_activation(graph: Graph) -> Graph:
    """Let convolutions, additions and dense layers apply their activation themselves."""

    def activated(graph: Graph, node: Node, before: Node) -> Node | None:
        if node.op != "activation" or before.op not in ("conv2d", "add", "dense"):
            return None
        if before.attrs.get("activation", "linear") != "linear":
            return None
        return _fused(before.with_attrs(activation=node.attrs["function"]), node)

    return _absorb(graph, activated, keep_first_name=True)


STEPS: tuple[Callable[[Graph], Graph], ...] = (
    drop_final_softmax,
    drop_identities,
    merge_padding,
    fold_batch_norm,
    fuse_residual,
    fuse_activation,
)


def _absorb(graph: Graph, merge: Callable[[Graph, Node, Node], Node | None], *, keep_first_name: bool) -> Graph:
    """Merge neighbours until ``merge`` finds no more.

    ``merge(graph, node, before)`` gets a node and one of its inputs that nothing else reads, and returns the
    node that replaces both, or None. It stands in the later one's place, under the earlier one's name if
    ``keep_first_name``.
    """
    changed = True
    while changed:
        changed = False
        for node in graph.nodes:
            for before in (graph.by_name[name] for name in reversed(node.inputs)):
                alone = len(graph.consumers[before.name]) == 1 and before.name != graph.output
                merged = merge(graph, node, before) if alone else None
                if merged is not None:
                    nodes = [merged if one is node else one for one in graph.nodes if one is not before]
                    renamed = {node.name: merged.name} if keep_first_name else {}
                    graph = graph.rebuilt(nodes, renamed)
                    changed = True
                    break
            if changed:
                break
    return graph


def _is_identity(graph: Graph, node: Node) -> bool:
    shape = graph.shapes[node.inputs[0]]
    if node.op == "activation":
        return bool(node.attrs["function"] == "linear")
    if node.op == "channel_shuffle":
        order = shuffle_order(shape[-1], node.attrs["step"])
        return order == tuple(range(len(order)))
    if node.op == "zero_padding":
        return not any(node.attrs["padding"])
    return node.op == "identity" or (node.op == "flatten" and len(shape) == 1)


def _as_convolution(graph: Graph, node: Node) -> Node:
    """Return a batch norm on a feature map as a 1x1 convolution with a group for each channel."""
    if node.op != "batch_norm" or len(graph.shapes[node.name]) != 3:
        return node
    scale, offset = scale_and_offset(node)
    channels = graph.shapes[node.name][2]
    kernel: NDArray[np.float32] = scale.reshape(1, 1, 1, channels).astype(np.float32)
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": channels, "activation": "linear"}
    return Node(node.name, "conv2d", node.inputs, attrs, {"kernel": kernel, "bias": offset.astype(np.float32)})


def _fused(node: Node, absorbed: Node) -> Node:
    return node.with_attrs(fused=(*node.attrs.get("fused", ()), absorbed.name))
