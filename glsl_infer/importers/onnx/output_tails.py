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


def ended(view: View, name: str, collected: GraphBuilder) -> View:
    """Return an output as a node in its shape in the bundle: a map, rows, or a vector.

    Maps have channels last, and rows keep the order in which the network computes them, to avoid transpositions.
    """
    nodes = Nodes(collected, name)
    shape = view.shape
    if len(shape) == 4 and shape[0] == 1:
        order = view.order()
        axes = next((axes for axes in _CHANNELS_LAST if order is not None and is_part(order, axes)), (2, 3, 1))
        moved = relayout.ordered(nodes, view, axes)
        held: Shape = tuple(shape[axis] for axis in axes)
        if sum(size > 1 for size in held) < 2 and len(nodes.shape(moved.node)) == 1:
            return moved
        return View(nodes.shaped(moved.node, held), moved.stored, moved.axes)
    simple = relayout.simple(nodes, view)
    order = simple.order() or ()
    own = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
    held = tuple(shape[axis] for axis in order) if len(order) > 1 else own
    if len(shape) == 3 and len(order) < 2 and min(own) == 1:
        held = own
    return View(nodes.shaped(simple.node, held or (1,)), simple.stored, simple.axes)
