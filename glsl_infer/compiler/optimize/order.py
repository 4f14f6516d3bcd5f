"""Exchange neighbours that commute, so that the cheaper order is drawn."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from glsl_infer import ops
from glsl_infer.compiler.optimize.rewriting import Draft, rewrite_each
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.node import OBSERVED_RANGE


def convolve_before_enlarging(graph: Graph) -> Graph:
    """Convolve single pixels before their map is enlarged, if the result has no more channels than the map.

    Interpolation is a mean of pixels whose weights add up to 1, so a 1x1 convolution, with its bias, commutes with it.
    An activation commutes only with copies of pixels.
    """
    return rewrite_each(graph, _convolve_sooner, last_first=True)


def _convolve_sooner(draft: Draft, node: Node) -> None:
    """Exchange a convolution of single pixels and the enlargement before it."""
    if not ops.get(node.op).convolves or len(node.inputs) != 1:
        return
    enlarging = draft.by_name[node.inputs[0]]
    traits = ops.get(enlarging.op)
    filters, channels = node.weights["kernel"].shape[3], draft.shapes[enlarging.name][-1]
    if not (traits.interpolates or traits.repeats) or not draft.read_once(enlarging.name) or filters > channels:
        return
    if not _of_single_pixels(node) or not (traits.repeats or node.activation == LINEAR):
        return
    if OBSERVED_RANGE in node.attrs and not traits.repeats:
        return  # A mean has a smaller range than its values, and the file does not have theirs.
    attrs = {key: value for key, value in node.attrs.items() if key != "fused"}
    sooner = replace(node, name=f"{node.name}-before", inputs=enlarging.inputs, attrs=attrs)
    later = replace(enlarging, name=node.name, inputs=(sooner.name,))
    draft.put((enlarging, node), (sooner, _with_history(later, node)), later.name)


def _of_single_pixels(node: Node) -> bool:
    return node.weights["kernel"].shape[:2] == node.attrs["strides"] == (1, 1) and not any(node.attrs["padding"])


def average_before_enlarging(graph: Graph) -> Graph:
    """Average maps before they are enlarged, which does not change their means."""
    return rewrite_each(graph, _average_sooner)


def _average_sooner(draft: Draft, node: Node) -> None:
    """Average the inputs of enlargements instead of their outputs; remove enlargements without other readers."""
    if not ops.get(node.op).averages:
        return
    inputs = tuple(_before_enlarging(draft, name) for name in node.inputs)
    if inputs == node.inputs:
        return
    draft.put((node,), (replace(node, inputs=inputs),), node.name)
    waiting = list(node.inputs)
    while waiting:
        producer = draft.by_name.get(waiting.pop())
        if producer is not None and draft.unread(producer.name):
            draft.remove(producer)
            waiting += producer.inputs


def _before_enlarging(draft: Draft, name: str) -> str:
    """Return the name of the map that is enlarged to the map of this name, which can be the map itself."""
    while ops.get(draft.by_name[name].op).interpolates or ops.get(draft.by_name[name].op).repeats:
        (name,) = draft.by_name[name].inputs
    return name


def activate_before_moving(graph: Graph) -> Graph:
    """Fuse an activation into the node before a layer that only moves or repeats values."""
    draft = Draft(graph)
    for slot in range(len(draft)):
        for node in draft.at(slot):
            _activate_sooner(draft, node)
    return draft.graph()


def _activate_sooner(draft: Draft, node: Node) -> None:
    """Move an activation before the move of the values that it reads, unless there are more values before the move."""
    if not ops.get(node.op).activates or node.activation.channels is not None:
        return
    move = draft.by_name[node.inputs[0]]
    if not ops.get(move.op).moves or not draft.read_once(move.name) or not draft.read_once(move.inputs[0]):
        return
    producer = draft.by_name[move.inputs[0]]
    if "activation" not in producer.attrs or producer.activation != LINEAR:
        return
    if prod(draft.shapes[producer.name]) > prod(draft.shapes[move.name]):
        return
    attrs = {key: value for key, value in producer.attrs.items() if key not in (OBSERVED_RANGE, "fused")}
    if OBSERVED_RANGE in node.attrs:
        attrs[OBSERVED_RANGE] = node.attrs[OBSERVED_RANGE]
    sooner = replace(producer, name=f"{node.name}-before", attrs=attrs).with_activation(node.activation)
    later = replace(move, name=node.name, inputs=(sooner.name,))
    draft.put((producer, move, node), (sooner, _with_history(later, node)), later.name)


def _with_history(later: Node, last: Node) -> Node:
    """Return a node with the observed range and the fused names of the node whose output it now computes."""
    attrs = {key: value for key, value in later.attrs.items() if key not in (OBSERVED_RANGE, "fused")}
    moved_attrs = {key: last.attrs[key] for key in (OBSERVED_RANGE, "fused") if key in last.attrs}
    return replace(later, attrs={**attrs, **moved_attrs})
