"""Optimisation steps for heads of networks: computations of Keras on 1x1 maps become computations on vectors.

A vector is stored in 16 bits, a feature map in 8. A dense layer has one texture of weights, but a convolution needs
a draw for every slice. MobileNet ends with GlobalAveragePooling2D(keepdims=True), Conv2D(classes, 1), Reshape.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.compiler.optimize.rewriting import Draft
from glsl_infer.graph import Graph, Node


class Rewrite(NamedTuple):
    """Replacement nodes of a node, and the name of the new input of its readers."""

    nodes: tuple[Node, ...]
    result: str


def vectors_stay_vectors(graph: Graph) -> Graph:
    """Move every reshape from a vector to a 1x1 map past its readers until it cancels with an opposite reshape.

    On its way, a convolution becomes a dense layer. A reshape from a map to a vector becomes a flatten. Other reshapes
    stay, and are refused by name when the graph is lowered.
    """
    draft = Draft(graph)
    changed = True
    while changed:
        changed = False
        for slot in range(len(draft)):
            while any(_rewritten(draft, node) for node in draft.at(slot)):
                changed = True
    return draft.graph()


def vectors_apart(graph: Graph) -> Graph:
    """Replace concatenations, sums and activations of vectors by vector operators, which store 16 bits."""

    def on_vector(node: Node) -> Node:
        op = ops.get(node.op).on_vectors
        if op is None or len(graph.shapes[node.name]) != 1:
            return node
        supported = ops.get(op).attrs
        attrs = {key: value for key, value in node.attrs.items() if key == "fused" or key in supported}
        result = Node(node.name, op, node.inputs, attrs)
        return result.with_activation(node.activation) if "activation" in supported else result

    return graph.rebuilt([on_vector(node) for node in graph.nodes])


def _rewrite(draft: Draft, node: Node) -> Rewrite | None:
    """Return the replacement of a node that uses a vector in the form of a map of one pixel; None for other nodes."""
    producer, shape = draft.by_name[node.inputs[0]], draft.shapes[node.name]
    if ops.get(node.op).on_vectors is not None and len(node.inputs) > 1:
        rewrite = _rewrite_all(draft, node)
        if rewrite is not None:
            return rewrite
    if ops.get(node.op).broadcasts:
        return _rewrite_operands(draft, node)
    if ops.get(node.op).only_reshapes:
        return _rewrite_reshape(draft, node)
    if not ops.get(producer.op).only_reshapes or len(node.inputs) != 1:
        return None
    (source,) = producer.inputs
    if len(draft.shapes[source]) != 1 or draft.shapes[producer.name][:2] != (1, 1):
        return None
    if ops.get(node.op).averages:
        return Rewrite((), source)
    if ops.get(node.op).elementwise:
        vector = replace(node, inputs=(source,))
    elif ops.get(node.op).convolves and shape[:2] == (1, 1):
        vector = _as_dense(node, source)
    else:
        return None
    as_map = Node(_free_name(draft, f"{node.name}-map"), "reshape", (node.name,), {"shape": shape})
    return Rewrite((vector, as_map), as_map.name)


def _rewrite_all(draft: Draft, node: Node) -> Rewrite | None:
    """Make an operation on several 1x1 maps, all of them reshaped vectors, read the vectors."""
    producers = [draft.by_name[name] for name in node.inputs]
    shape = draft.shapes[node.name]
    if len(shape) != 3 or not all(
        ops.get(producer.op).only_reshapes
        and draft.shapes[producer.name][:2] == (1, 1)
        and len(draft.shapes[producer.inputs[0]]) == 1
        for producer in producers
    ):
        return None
    vectors = replace(node, inputs=tuple(producer.inputs[0] for producer in producers))
    as_map = Node(_free_name(draft, f"{node.name}-map"), "reshape", (node.name,), {"shape": shape})
    return Rewrite((vectors, as_map), as_map.name)


def _rewrite_operands(draft: Draft, node: Node) -> Rewrite | None:
    """Make an operation on a map and a 1x1 map read the vector from which the latter was reshaped."""

    def vector(name: str) -> str:
        producer = draft.by_name[name]
        if not ops.get(producer.op).only_reshapes or draft.shapes[name][:2] != (1, 1):
            return name
        if len(draft.shapes[producer.inputs[0]]) != 1:
            return name
        return producer.inputs[0]

    inputs = tuple(vector(name) for name in node.inputs)
    if inputs == node.inputs or all(len(draft.shapes[name]) == 1 for name in inputs):
        return None
    return Rewrite((replace(node, inputs=inputs),), node.name)


def _rewrite_reshape(draft: Draft, node: Node) -> Rewrite | None:
    producer = draft.by_name[node.inputs[0]]
    input_shape, shape = draft.shapes[producer.name], draft.shapes[node.name]
    if input_shape == shape:
        return Rewrite((), producer.name)
    if ops.get(producer.op).only_reshapes:
        # A flatten in between would round to 16 bits. The map holds the values of its texture.
        return Rewrite((Node(node.name, "reshape", producer.inputs, {"shape": shape}),), node.name)
    if not ops.get(node.op).has_shader and len(input_shape) == 3 and len(shape) == 1:
        return Rewrite((Node(node.name, "flatten", node.inputs, {"scale": None}),), node.name)
    return None


def _as_dense(node: Node, source: str) -> Node:
    """Return a convolution from one pixel to one pixel as a dense layer: at most one tap covers the pixel."""
    kernel = node.weights["kernel"]
    height, width, group_channels, filters = kernel.shape
    groups, (top, _, left, _), (down, right) = (node.attrs[key] for key in ("groups", "padding", "dilations"))
    matrix: NDArray[np.float32] = np.zeros((groups, group_channels, groups, filters // groups), np.float32)
    row, column = top // down, left // right
    if not top % down and not left % right and row < height and column < width:
        tap = kernel[row, column].reshape(group_channels, groups, filters // groups)
        for group in range(groups):
            matrix[group, :, group] = tap[:, group]
    attrs = {key: value for key, value in node.attrs.items() if key in ("activation", "fused")}
    weights = {"kernel": matrix.reshape(groups * group_channels, filters), "bias": node.weights["bias"]}
    return Node(node.name, "dense", (source,), attrs, weights)


def _rewritten(draft: Draft, node: Node) -> bool:
    """Rewrite a node if possible, remove unread reshapes, and return whether it was rewritten."""
    rewrite = _rewrite(draft, node) if node.inputs else None
    if rewrite is None:
        return False
    draft.put((node,), rewrite.nodes, rewrite.result)
    waiting = list(node.inputs)
    while waiting:
        producer = draft.by_name.get(waiting.pop())
        if producer is not None and ops.get(producer.op).only_reshapes and draft.unread(producer.name):
            draft.remove(producer)
            waiting += producer.inputs
    return True


def _free_name(draft: Draft, name: str) -> str:
    names = (name, *(f"{name}~{index}" for index in range(1, len(draft.by_name) + 1)))
    return next(name for name in names if name not in draft.by_name)
