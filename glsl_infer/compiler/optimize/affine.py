"""Optimisation steps for scales and offsets: rescaling is folded into the picture's range, batch norm into weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.optimize.rewriting import absorb, fused
from glsl_infer.graph import Graph, Node, Shape
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.kernels import input_channels
from glsl_infer.graph.node import NORMAL, OBSERVED_RANGE
from glsl_infer.graph.picture import is_picture, picture_range, with_picture_range
from glsl_infer.ops.traits import Affine
from glsl_infer.ops.vector_affine import affine_node


def fold_rescaling(graph: Graph) -> Graph:
    """Fold rescaling or batch norm of a picture into the range of its bytes, if all readers apply the same.

    With ``value = s * x + o`` and ``x = S * (byte - Z) / 255``, the result is
    ``s * S * (byte - (Z - 255 o / (s S))) / 255``.
    """
    pictures: dict[str, Node] = {}
    picture_of: dict[str, str] = {}  # removed nodes
    for picture in graph.inputs:
        folded, readers = picture, graph.consumers[picture.name]
        while readers and _foldable(graph, folded, readers):
            scale, offset = _affine(graph.shapes, readers[0])
            scales, zeros = (np.asarray(values) for values in picture_range(folded))
            with np.errstate(all="ignore"):
                scales = scale * scales
                zeros = zeros - 255.0 * offset / scales
            if not (scales.all() and np.isfinite(scales).all() and np.isfinite(zeros).all()):
                break  # The bytes would all have the same value, or one beyond floats.
            folded = with_picture_range(folded, scales.tolist(), zeros.tolist())
            picture_of.update(dict.fromkeys((node.name for node in readers), picture.name))
            readers = tuple(next_reader for node in readers for next_reader in graph.consumers[node.name])
        pictures[picture.name] = folded
    if not picture_of:
        return graph
    nodes = [pictures.get(node.name, node) for node in graph.nodes if node.name not in picture_of]
    return graph.rebuilt(nodes, picture_of)


def fold_batch_norm(graph: Graph) -> Graph:
    """Fold batch norm and rescaling into the layer before, or else the layer after; those left become convolutions."""

    def folded(shapes: Mapping[str, Shape], node: Node, producer: Node) -> Node | None:
        if not _is_affine(node) or not ops.get(producer.op).has_kernel:
            return None
        if producer.activation != LINEAR or len(producer.inputs) != 1:
            return None
        scale, offset = _affine(shapes, node)
        weights = {
            "kernel": (producer.weights["kernel"].astype(np.float64) * scale).astype(np.float32),
            "bias": (producer.weights["bias"].astype(np.float64) * scale + offset).astype(np.float32),
        }
        return fused(replace(producer, weights=weights).with_attrs(**_normal(shapes, node, producer)), node)

    graph = absorb(absorb(graph, folded, keep_first_name=True), _folded_forward, keep_first_name=False)
    return graph.rebuilt([_as_convolution(graph, node) for node in graph.nodes])


def _folded_forward(shapes: Mapping[str, Shape], node: Node, producer: Node) -> Node | None:
    """Return a convolution or dense layer with ``producer`` folded in; None unless it is affine and keeps padding 0."""
    if not _is_affine(producer) or not ops.get(node.op).has_kernel:
        return None
    if node.inputs[0] != producer.name or node.inputs.count(producer.name) != 1:
        return None
    scale, offset = _affine(shapes, producer)
    if any(node.attrs.get("padding", ())) and offset.any():
        return None
    kernel, bias = (node.weights[name].astype(np.float64) for name in ("kernel", "bias"))
    channel = input_channels(kernel.shape, node.attrs.get("groups", 1))
    bias = bias + (kernel * offset[channel]).reshape(-1, kernel.shape[-1]).sum(axis=0)
    weights = {"kernel": (kernel * scale[channel]).astype(np.float32), "bias": bias.astype(np.float32)}
    return replace(node, inputs=(producer.inputs[0], *node.inputs[1:]), weights=weights)


def _foldable(graph: Graph, picture: Node, readers: Sequence[Node]) -> bool:
    if not is_picture(picture) or {picture.name, *(node.name for node in readers)} & set(graph.output_layers):
        return False
    if not all(_is_affine(node) for node in readers):
        return False
    return all(np.array_equal(_affine(graph.shapes, node), _affine(graph.shapes, readers[0])) for node in readers)


def _is_affine(node: Node) -> bool:
    return ops.get(node.op).affine(node) is not None


def _affine(shapes: Mapping[str, Shape], node: Node) -> Affine:
    """Return the scale and the offset of a batch norm or a rescaling, (channels,) each."""
    affine = ops.get(node.op).affine(node)
    assert affine is not None, node.name
    scale, offset = affine
    channels = shapes[node.name][-1]
    return np.broadcast_to(scale.astype(np.float64), channels), np.broadcast_to(offset.astype(np.float64), channels)


def _as_convolution(graph: Graph, node: Node) -> Node:
    """Return batch norm or rescaling on a feature map as a 1x1 convolution with a group for each channel.

    On a vector input of the network it becomes a dense layer with a diagonal kernel, on other vectors
    ``vector_affine``.
    """
    if _is_affine(node) and graph.by_name[node.inputs[0]] in graph.inputs and len(graph.shapes[node.name]) == 1:
        scale, offset = (values.astype(np.float32) for values in _affine(graph.shapes, node))
        return Node(node.name, "dense", node.inputs, {}, {"kernel": np.diag(scale), "bias": offset})
    if _is_affine(node) and len(graph.shapes[node.name]) == 1:
        return affine_node(node.name, node.inputs[0], *_affine(graph.shapes, node))
    if not _is_affine(node) or len(graph.shapes[node.name]) != 3:
        return node
    channels = graph.shapes[node.name][2]
    scale, offset = (values.astype(np.float32) for values in _affine(graph.shapes, node))
    kernel = scale.reshape(1, 1, 1, channels)
    attrs = {"strides": (1, 1), "padding": (0, 0, 0, 0), "groups": channels, "activation": "linear"}
    attrs.update({OBSERVED_RANGE: node.attrs[OBSERVED_RANGE]} if OBSERVED_RANGE in node.attrs else {})
    attrs.update(_normal(graph.shapes, node, node))
    return Node(node.name, "conv2d", node.inputs, attrs, {"kernel": kernel, "bias": offset})


def _normal(shapes: Mapping[str, Shape], node: Node, producer: Node) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Return the attribute ``NORMAL`` of a node, from its batch norm or from the node before; empty if unknown."""
    normal = ops.get(node.op).normal(node)
    if normal is None and NORMAL in producer.attrs:
        (scale, offset), (mean, deviation) = _affine(shapes, node), map(np.asarray, producer.attrs[NORMAL])
        normal = scale * mean + offset, np.abs(scale) * deviation
    return {} if normal is None else {NORMAL: (tuple(normal[0].tolist()), tuple(normal[1].tolist()))}
