"""Optimisation steps for scales and offsets: rescaling goes into the picture's range, batch norm into weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.optimize.absorb import absorb, fused
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.kernels import input_channels
from glsl_infer.graph.node import NORMAL, SEEN
from glsl_infer.graph.picture import is_picture, picture_range, with_picture_range
from glsl_infer.ops.traits import Affine
from glsl_infer.ops.vector_affine import affine_node


def fold_rescaling(graph: Graph) -> Graph:
    """Let the bytes of the picture stand for what rescaling or batch norm makes of them, where all readers do the same.

    Of ``value = s * x + o`` with ``x = S * (byte - Z) / 255`` it makes ``s * S * (byte - (Z - 255 o / (s S))) / 255``.
    """
    for picture in graph.inputs:
        while (readers := graph.consumers[picture.name]) and _foldable(graph, picture, readers):
            scale, offset = _affine(graph, readers[0])
            scales, zeros = (np.asarray(values) for values in picture_range(picture))
            if not (scale * scales).all():
                break  # all bytes would mean the same, which no zero can express
            zeros = zeros - 255.0 * offset / (scale * scales)
            picture = with_picture_range(picture, (scale * scales).tolist(), zeros.tolist())  # noqa: PLW2901
            gone = {node.name for node in readers}
            nodes = [picture if node.name == picture.name else node for node in graph.nodes if node.name not in gone]
            graph = graph.rebuilt(nodes, dict.fromkeys(gone, picture.name))
    return graph


def fold_batch_norm(graph: Graph) -> Graph:
    """Multiply batch norm and rescaling into the layer before, else into that behind; alone on a map, make them one."""

    def folded(graph: Graph, node: Node, before: Node) -> Node | None:
        if not _is_affine(node) or not ops.get(before.op).has_kernel:
            return None
        if before.activation != LINEAR or len(before.inputs) != 1:
            return None
        scale, offset = _affine(graph, node)
        weights = {
            "kernel": (before.weights["kernel"].astype(np.float64) * scale).astype(np.float32),
            "bias": (before.weights["bias"].astype(np.float64) * scale + offset).astype(np.float32),
        }
        return fused(replace(before, weights=weights).with_attrs(**_normal(graph, node, before)), node)

    graph = absorb(absorb(graph, folded, keep_first_name=True), _folded_forward, keep_first_name=False)
    return graph.rebuilt([_as_convolution(graph, node) for node in graph.nodes])


def _folded_forward(graph: Graph, node: Node, before: Node) -> Node | None:
    """Return a convolution or dense layer that reads what ``before`` reads, if that is affine and nothing is padded."""
    if not _is_affine(before) or not ops.get(node.op).has_kernel or any(node.attrs.get("padding", ())):
        return None
    if node.inputs[0] != before.name or node.inputs.count(before.name) != 1:
        return None
    scale, offset = _affine(graph, before)
    kernel, bias = (node.weights[name].astype(np.float64) for name in ("kernel", "bias"))
    channel = input_channels(kernel.shape, node.attrs.get("groups", 1))
    bias = bias + (kernel * offset[channel]).reshape(-1, kernel.shape[-1]).sum(axis=0)
    weights = {"kernel": (kernel * scale[channel]).astype(np.float32), "bias": bias.astype(np.float32)}
    return replace(node, inputs=(before.inputs[0], *node.inputs[1:]), weights=weights)


def _foldable(graph: Graph, picture: Node, readers: Sequence[Node]) -> bool:
    if not is_picture(picture) or {picture.name, *(node.name for node in readers)} & set(graph.output_layers):
        return False
    if not all(_is_affine(node) for node in readers):
        return False
    return all(np.array_equal(_affine(graph, node), _affine(graph, readers[0])) for node in readers)


def _is_affine(node: Node) -> bool:
    return ops.get(node.op).affine(node) is not None


def _affine(graph: Graph, node: Node) -> Affine:
    """Return what a batch norm or a rescaling does, (channels,) each."""
    affine = ops.get(node.op).affine(node)
    assert affine is not None, node.name
    scale, offset = affine
    channels = graph.shapes[node.name][-1]
    return np.broadcast_to(scale.astype(np.float64), channels), np.broadcast_to(offset.astype(np.float64), channels)


def _as_convolution(graph: Graph, node: Node) -> Node:
    """Return batch norm or rescaling on a feature map as a 1x1 convolution with a group for each channel.

    On an input of numbers it becomes a dense layer whose kernel is a diagonal, on other vectors ``vector_affine``.
    """
    if _is_affine(node) and graph.by_name[node.inputs[0]] in graph.inputs and len(graph.shapes[node.name]) == 1:
        scale, offset = (values.astype(np.float32) for values in _affine(graph, node))
        return Node(node.name, "dense", node.inputs, {}, {"kernel": np.diag(scale), "bias": offset})
    if _is_affine(node) and len(graph.shapes[node.name]) == 1:
        return affine_node(node.name, node.inputs[0], *_affine(graph, node))
    if not _is_affine(node) or len(graph.shapes[node.name]) != 3:
        return node
    channels = graph.shapes[node.name][2]
    scale, offset = (values.astype(np.float32) for values in _affine(graph, node))
    kernel = scale.reshape(1, 1, 1, channels)
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": channels, "activation": "linear"}
    attrs.update({SEEN: node.attrs[SEEN]} if SEEN in node.attrs else {})
    attrs.update(_normal(graph, node, node))
    return Node(node.name, "conv2d", node.inputs, attrs, {"kernel": kernel, "bias": offset})


def _normal(graph: Graph, node: Node, before: Node) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Return the attribute that says what sums are like which a node makes of those of the one before it."""
    found = ops.get(node.op).normal(node)
    if found is None and NORMAL in before.attrs:
        (scale, offset), (mean, deviation) = _affine(graph, node), map(np.asarray, before.attrs[NORMAL])
        found = scale * mean + offset, np.abs(scale) * deviation
    return {} if found is None else {NORMAL: (tuple(found[0].tolist()), tuple(found[1].tolist()))}
