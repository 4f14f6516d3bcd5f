"""Layout of an ONNX model's outputs: each becomes a node with the shape that it has in the bundle."""

from __future__ import annotations

from glsl_infer.graph import Shape
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.relayout import is_part
from glsl_infer.importers.onnx.view import View

_MAP_AXES = ((2, 3, 1), (1, 2, 3))
"""Axes of (height, width, channels) in files with channels first, and with channels last."""


def in_bundle_shape(view: View, name: str, builder: GraphBuilder) -> View:
    """Return an output as a node in its shape in the bundle: a map, rows, or a vector.

    Maps have channels last. Rows keep the order in which the network computes them, to avoid transpositions, without
    axes of length 1.
    """
    nodes = Nodes(builder, name)
    shape = view.shape
    if len(shape) == 4 and shape[0] == 1:
        order = view.order()
        axes = next((axes for axes in _MAP_AXES if order is not None and is_part(order, axes)), (2, 3, 1))
        ordered = relayout.ordered(nodes, view, axes)
        node_shape: Shape = tuple(shape[axis] for axis in axes)
        # A map with only one axis longer than 1 stays a vector if the node already is one.
        if sum(size > 1 for size in node_shape) < 2 and len(nodes.shape(ordered.node)) == 1:
            return ordered
        return ordered.at(nodes.shaped(ordered.node, node_shape))
    simple = relayout.simple(nodes, view)
    order = simple.order() or ()
    without_batch = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
    node_shape = tuple(shape[axis] for axis in order) if len(order) > 1 else without_batch
    return simple.at(nodes.shaped(simple.node, node_shape or (1,)))
