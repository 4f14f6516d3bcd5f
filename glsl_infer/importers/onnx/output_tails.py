"""The outputs of an ONNX model: the node of each, and its output tail as host steps (``core.output_tail``)."""

from __future__ import annotations

from glsl_infer.graph import Shape
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.relayout import is_part
from glsl_infer.importers.onnx.view import View

_CHANNELS_LAST = ((2, 3, 1), (1, 2, 3))
"""Axes of maps, for files with channels first and last."""


def ended(view: View, name: str, builder: GraphBuilder) -> View:
    """Return an output as a node in its shape in the bundle: a map, rows, or a vector.

    Maps have channels last, and rows keep the order in which the network computes them, to avoid transpositions.
    """
    nodes = Nodes(builder, name)
    shape = view.shape
    if len(shape) == 4 and shape[0] == 1:
        order = view.order()
        axes = next((axes for axes in _CHANNELS_LAST if order is not None and is_part(order, axes)), (2, 3, 1))
        ordered = relayout.ordered(nodes, view, axes)
        node_shape: Shape = tuple(shape[axis] for axis in axes)
        if sum(size > 1 for size in node_shape) < 2 and len(nodes.shape(ordered.node)) == 1:
            return ordered
        return ordered.at(nodes.shaped(ordered.node, node_shape))
    simple = relayout.simple(nodes, view)
    order = simple.order() or ()
    own = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
    node_shape = tuple(shape[axis] for axis in order) if len(order) > 1 else own
    if len(shape) == 3 and len(order) < 2 and min(own) == 1:
        node_shape = own
    return simple.at(nodes.shaped(simple.node, node_shape or (1,)))
