"""Graph -> graph: the same function with fewer nodes.

Every step is a pure function; ``optimize`` runs them in order. None knows anything of textures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from glsl_infer.compiler.optimize.absorb import absorb, fused
from glsl_infer.compiler.optimize.affine import fold_batch_norm, fold_rescaling
from glsl_infer.compiler.optimize.vectors import vectors_stay_vectors
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.piecewise_linear import HARD_SIGMOID, SEVEN_PIECES
from glsl_infer.ops.channel_gather import whole_slices
from glsl_infer.ops.channel_shuffle import shuffle_order

PIECES = {"hard_sigmoid": HARD_SIGMOID, "piecewise_linear_sigmoid": SEVEN_PIECES}
"""Activations that are sigmoids of straight pieces, by the names that importers give them."""


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
    """Remove what changes nothing: dropout, linear activations, empty padding, flattened vectors and their like."""
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

    return absorb(graph, merged, keep_first_name=False)


def fuse_residual(graph: Graph) -> Graph:
    """Let a convolution add its residual itself."""

    def with_residual(graph: Graph, node: Node, before: Node) -> Node | None:
        if node.op != "add" or before.op != "conv2d" or len(node.inputs) != 2 or len(before.inputs) != 1:
            return None
        if before.attrs["activation"] != "linear" or node.inputs[0] == node.inputs[1]:
            return None
        (residual,) = (name for name in node.inputs if name != before.name)
        summed = before.with_attrs(activation=node.attrs["activation"])
        return fused(replace(summed, inputs=(before.inputs[0], residual)), node)

    return absorb(graph, with_residual, keep_first_name=True)


def fuse_activation(graph: Graph) -> Graph:
    """Let convolutions, additions and dense layers apply their activation themselves."""

    def activated(graph: Graph, node: Node, before: Node) -> Node | None:
        if node.op != "activation" or before.op not in ("conv2d", "add", "dense"):
            return None
        if before.attrs.get("activation", "linear") != "linear":
            return None
        return fused(before.with_attrs(activation=node.attrs["function"]), node)

    return absorb(graph, activated, keep_first_name=True)


def sigmoids_as_pieces(graph: Graph) -> Graph:
    """Write sigmoids of straight pieces by their numbers: weights and the store then do a part of them, or all."""

    def rewritten(node: Node) -> Node:
        key = "function" if node.op == "activation" else "activation"
        function = PIECES.get(node.attrs.get(key, ""))
        return node if function is None else node.with_attrs(**{key: function.name})

    return graph.rebuilt([rewritten(node) for node in graph.nodes])


def copy_unaligned_concats(graph: Graph) -> Graph:
    """Turn concatenations into copies where an input but the last has a slice that is not full: views cannot do it."""

    def unaligned(node: Node) -> bool:
        return node.op == "concat" and any(graph.shapes[name][2] % 4 for name in node.inputs[:-1])

    return graph.rebuilt([replace(node, op="concat_copy") if unaligned(node) else node for node in graph.nodes])


def gathers_as_views(graph: Graph) -> Graph:
    """Let views pick channels where these are whole slices."""

    def viewed(node: Node) -> bool:
        if node.op != "channel_gather":
            return False
        return whole_slices(node.attrs["channels"], graph.shapes[node.inputs[0]][2])

    return graph.rebuilt([replace(node, op="channel_view") if viewed(node) else node for node in graph.nodes])


STEPS: tuple[Callable[[Graph], Graph], ...] = (
    drop_identities,
    merge_padding,
    vectors_stay_vectors,
    drop_final_softmax,
    fold_rescaling,
    fold_batch_norm,
    fuse_residual,
    fuse_activation,
    sigmoids_as_pieces,
    copy_unaligned_concats,
    gathers_as_views,
)


def _is_identity(graph: Graph, node: Node) -> bool:
    shape, attrs = graph.shapes[node.inputs[0]], node.attrs
    if node.op == "channel_shuffle":
        order = shuffle_order(shape[-1], attrs["step"])
        return order == tuple(range(len(order)))
    if node.op == "rescaling":
        return set(attrs["scales"]) == {1.0} and set(attrs["offsets"]) == {0.0}
    if node.op == "zero_padding":
        return not any(attrs["padding"])
    if node.op == "spatial_slice":
        return graph.shapes[node.name] == shape and attrs["begin"] == (0, 0)
    if node.op == "channel_gather":
        return tuple(attrs["channels"]) == tuple(range(shape[2]))
    if node.op == "resize":
        return tuple(attrs["size"]) == tuple(shape[:2])
    if node.op == "concat":
        return len(node.inputs) == 1
    if node.op == "flatten":
        return len(shape) == 1
    once = (1, 1)
    nothing_done: dict[str, dict[str, Any]] = {
        "activation": {"function": "linear"},
        "average_pool": {"pool": once, "strides": once},
        "depth_to_space": {"block": 1},
        "identity": {},
        "max_pool": {"pool": once, "strides": once},
        "upsample_bilinear": {"size": once},
        "upsample_nearest": {"size": once},
    }
    return node.op in nothing_done and nothing_done[node.op].items() <= attrs.items()
