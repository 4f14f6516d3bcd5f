"""Graph optimisation: the same function with fewer nodes.

Every step is a pure function from graph to graph, and ``optimize`` runs them in order. No step depends on textures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.bundle.format_constants import RANGES
from glsl_infer.compiler.gutters import gutters
from glsl_infer.compiler.optimize.affine import fold_batch_norm, fold_rescaling
from glsl_infer.compiler.optimize.long_vectors import long_vectors, maps_of_vectors
from glsl_infer.compiler.optimize.order import (
    activate_before_moving,
    average_before_enlarging,
    convolve_before_enlarging,
)
from glsl_infer.compiler.optimize.rewriting import absorb, fused
from glsl_infer.compiler.optimize.terms import average_terms, convolve_terms
from glsl_infer.compiler.optimize.vectors import vectors_apart, vectors_stay_vectors
from glsl_infer.graph import Graph, GraphOutput, Node, Shape
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.graph.activations.sigmoids import of_pieces
from glsl_infer.graph.host_steps import SIGMOID, SOFTMAX, HostStep
from glsl_infer.graph.purposes import VALUES
from glsl_infer.ops.operator import CopyOperator


def optimize(graph: Graph) -> Graph:
    """Run all steps.

    Afterwards, a convolution includes everything up to its activation, in this order: folded batch norm, residual,
    activation. Fused nodes are listed in its attribute ``fused``. The last of them is the layer of the original network
    whose output the node now computes.
    """
    for step in STEPS:
        graph = step(graph)
    return graph


def drop_identities(graph: Graph) -> Graph:
    """Remove nodes without an effect, such as dropout, linear activations, empty padding and flattening of vectors."""
    renamed: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        if node.inputs and ops.get(node.op).is_identity(node, graph.shapes[node.inputs[0]]):
            renamed[node.name] = node.inputs[0]
        else:
            nodes.append(node)
    return graph.rebuilt(nodes, renamed)


def in_parts(graph: Graph) -> Graph:
    """Decompose operators into simpler ones."""

    def parts(node: Node) -> tuple[Node, ...]:
        return ops.get(node.op).parts(node, [graph.shapes[name] for name in node.inputs]) or (node,)

    return graph.rebuilt([part for node in graph.nodes for part in parts(node)])


def merge_same(graph: Graph) -> Graph:
    """Merge two successive nodes of the same operator into one, such as a crop of a crop or a scale of a scale."""

    def merged(shapes: Mapping[str, Shape], node: Node, producer: Node) -> Node | None:
        if node.op != producer.op or len(node.inputs) != 1 or len(producer.inputs) != 1:
            return None
        return ops.get(node.op).merged(node, producer)

    return absorb(graph, merged, keep_first_name=False)


def merge_padding(graph: Graph) -> Graph:
    """Merge explicit padding into the convolution of the padded map."""

    def merged(shapes: Mapping[str, Shape], node: Node, producer: Node) -> Node | None:
        pads = ops.get(producer.op).only_pads and ops.get(node.op).convolves
        if not pads or node.inputs.count(producer.name) != 1:
            return None
        if node.inputs[0] != producer.name or min(producer.attrs["padding"]) < 0:
            return None
        padding = tuple(a + b for a, b in zip(producer.attrs["padding"], node.attrs["padding"]))
        inputs = (producer.inputs[0], *node.inputs[1:])
        return replace(node.with_attrs(padding=padding), inputs=inputs)

    return absorb(graph, merged, keep_first_name=False)


def sums_as_residuals(graph: Graph) -> Graph:
    """Write sums of more than two maps as sums of two, if a convolution can then add its share as a residual."""

    def as_pairs(node: Node) -> list[Node]:
        count = len(node.inputs)
        if not ops.get(node.op).adds or count < 3 or not any(map(is_free, node.inputs[1:])):
            return [node]
        nodes: list[Node] = []
        left = node.inputs[0]
        for index, right in enumerate(node.inputs[1:-1]):
            linear = node.with_attrs(activation="linear")
            nodes.append(replace(linear, name=f"{node.name}-sum{index + 1}", inputs=(left, right)))
            left = nodes[-1].name
        return [*nodes, replace(node, inputs=(left, node.inputs[-1]))]

    def is_free(name: str) -> bool:
        producer = graph.by_name[name]
        is_only_reader = (
            len(graph.consumers[name]) == 1 and name not in graph.output_layers and len(producer.inputs) == 1
        )
        return is_only_reader and ops.get(producer.op).convolves and producer.activation == LINEAR

    return graph.rebuilt([pair for node in graph.nodes for pair in as_pairs(node)])


def fuse_residual(graph: Graph) -> Graph:
    """Fuse the addition of a residual into the convolution before it."""

    def with_residual(shapes: Mapping[str, Shape], node: Node, producer: Node) -> Node | None:
        joins = ops.get(node.op).adds and ops.get(producer.op).convolves
        if not joins or len(node.inputs) != 2 or len(producer.inputs) != 1:
            return None
        if producer.activation != LINEAR or node.inputs[0] == node.inputs[1]:
            return None
        (residual,) = (name for name in node.inputs if name != producer.name)
        summed = producer.with_activation(node.activation)
        return fused(replace(summed, inputs=(producer.inputs[0], residual)), node)

    return absorb(graph, with_residual, keep_first_name=True)


def fuse_activation(graph: Graph) -> Graph:
    """Fuse activations into the convolutions, additions and dense layers before them."""

    def activated(shapes: Mapping[str, Shape], node: Node, producer: Node) -> Node | None:
        if not ops.get(node.op).activates or "activation" not in producer.attrs or producer.activation != LINEAR:
            return None
        return fused(producer.with_activation(node.activation), node)

    return absorb(graph, activated, keep_first_name=True)


def sigmoids_as_pieces(graph: Graph) -> Graph:
    """Write piecewise-linear sigmoids with explicit constants, for weights and the saturating store to absorb."""

    def rewritten(node: Node) -> Node:
        pieces = node.activation.pieces
        return node if pieces is None else node.with_activation(of_pieces(pieces))

    return graph.rebuilt([rewritten(node) for node in graph.nodes])


def replace_by_shape(graph: Graph) -> Graph:
    """Replace operators without support for the shapes of their inputs, such as a concatenation that cannot be a view.

    A replacement that shows lanes beyond the last channel as zeros is undone if these lanes can have other values. They
    can if it copies an input picture, whose last lane is alpha, or if its map is padded, because in 16 bits all lanes
    of the gutter have one colour.
    """

    def replaced(node: Node) -> Node:
        op = ops.get(node.op).replacement(node, [graph.shapes[name] for name in node.inputs])
        return node if op is None else replace(node, op=op)

    result = graph.rebuilt([replaced(node) for node in graph.nodes])
    shows = [node for node in result.nodes if ops.get(node.op).shows_lanes(node)]
    gutter = gutters(result) if shows else {}
    undone = {node.name: graph.by_name[node.name] for node in shows if gutter[node.name] or _copies_input(result, node)}
    return result.rebuilt([undone.get(node.name, node) for node in result.nodes]) if undone else result


def _copies_input(graph: Graph, node: Node) -> bool:
    """Return whether a node can copy an input of the network. A picture's lane beyond the last channel is alpha."""
    waiting, visited = list(node.inputs), set[str]()
    while waiting:
        source = graph.by_name[waiting.pop()]
        if source.operator.is_input:
            return True
        if source.name not in visited and isinstance(source.operator, CopyOperator):
            waiting += source.inputs
        visited.add(source.name)
    return False


def peel_endings(graph: Graph) -> Graph:
    """Turn softmaxes at the end of outputs, and sigmoids of vectors, into host steps.

    The softmax of a network's only output is removed, because runners return logits, unless the output's purpose is
    plain values or a host step follows. A sigmoid of a map stays in the shader of the map: it costs nothing there, and
    it implies the range.
    """
    outputs = []
    for output in graph.outputs:
        peeled = output
        while step := _last_step(graph, peeled):
            sources = tuple(graph.by_name[layer].inputs[0] for layer in peeled.layers)
            dropped = step == SOFTMAX and len(graph.outputs) == 1 and not peeled.steps and peeled.purpose != VALUES
            steps = peeled.steps if dropped else (HostStep(step), *peeled.steps)
            peeled = replace(peeled, layers=sources, steps=steps)
        outputs.append(peeled)
    return _without_unread(graph, outputs) if tuple(outputs) != graph.outputs else graph


def _last_step(graph: Graph, output: GraphOutput) -> str:
    """Return the common host step of an output's layers; empty if they have none, or different ones."""
    steps = {_step(graph, graph.by_name[layer]) for layer in output.layers}
    return steps.pop() if len(steps) == 1 else ""


def _step(graph: Graph, node: Node) -> str:
    step = ops.get(node.op).host_step(node)
    return "" if step == SIGMOID and len(graph.shapes[node.name]) != 1 else step


def _without_unread(graph: Graph, outputs: Sequence[GraphOutput]) -> Graph:
    """Return the graph with other outputs, and without unread nodes; inputs stay."""
    read = {layer for output in outputs for layer in output.layers}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in read or node.operator.is_input:
            read.update(node.inputs)
            nodes.append(node)
    return Graph(graph.name, reversed(nodes), outputs)


Axis = tuple[range, int, int]
"""The remaining taps of one axis, and the padding before and after."""


def leave_out_idle_taps(graph: Graph) -> Graph:
    """Cut rows and columns off kernels whose taps are all in the padding, for all pixels of the output.

    Windows with large dilations have such taps. For example, a 3x3 window with a dilation of 18 on a map of 16x16
    covers the map only with its middle tap. It becomes a convolution of single pixels, without a gutter of 18 texels.
    """

    def reduced(node: Node) -> Node:
        """Return a convolution without the rows and columns of taps that are always in the padding."""
        if not ops.get(node.op).convolves:
            return node
        sizes, outputs = graph.shapes[node.inputs[0]], graph.shapes[node.name]
        kernel, (top, bottom, left, right) = node.weights["kernel"], node.attrs["padding"]
        (down, across), dilations, taps = node.attrs["strides"], node.attrs["dilations"], kernel.shape
        rows, top, bottom = _used_taps(sizes[0], outputs[0], taps[0], down, dilations[0], (top, bottom))
        columns, left, right = _used_taps(sizes[1], outputs[1], taps[1], across, dilations[1], (left, right))
        if (len(rows), len(columns)) == taps[:2]:
            return node
        remaining = kernel[rows.start : rows.stop, columns.start : columns.stop]
        attrs = {**node.attrs, "padding": (top, bottom, left, right)}
        if remaining.shape[:2] == (1, 1):
            attrs["dilations"] = (1, 1)
        return replace(node, attrs=attrs, weights={**node.weights, "kernel": remaining})

    return graph.rebuilt([reduced(node) for node in graph.nodes])


def _used_taps(size: int, output: int, taps: int, stride: int, dilation: int, padding: tuple[int, int]) -> Axis:
    """Return the taps of one axis to keep, and the padding. A tap is also kept if the padding would become negative.

    Args:
        size: pixels of the input.
        output: pixels of the output.
        taps: number of taps of the kernel.
        stride: pixels from window to window.
        dilation: pixels from tap to tap.
        padding: pixels of padding before and after.
    """
    before, after = padding
    first, last = 0, taps
    while last - first > 1 and dilation <= before and stride * (output - 1) < before:
        # The first tap of the last window is before the map.
        first, before = first + 1, before - dilation
    while last - first > 1 and dilation <= after and (last - first - 1) * dilation - before >= size:
        last, after = last - 1, after - dilation
    return range(first, last), before, after


def split_wide_padding(graph: Graph) -> Graph:
    """Split padding that is wider than a gutter can be: explicit zero padding adds the excess before the node."""

    def parts(node: Node) -> list[Node]:
        if not (ops.get(node.op).convolves or ops.get(node.op).only_pads) or ops.get(node.op).padding(node) <= _GUTTER:
            return [node]
        nodes, source, padding = list[Node](), node.inputs[0], tuple(node.attrs["padding"])
        while max(padding) > _GUTTER:
            excess = tuple(min(max(side - _GUTTER, 0), _GUTTER) for side in padding)
            nodes.append(Node(f"{node.name}-padding{len(nodes) + 1}", "zero_padding", (source,), {"padding": excess}))
            source, padding = nodes[-1].name, tuple(side - added for side, added in zip(padding, excess))
        return [*nodes, replace(node.with_attrs(padding=padding), inputs=(source, *node.inputs[1:]))]

    return graph.rebuilt([part for node in graph.nodes for part in parts(node)])


_GUTTER = RANGES["gutter"][1]
"""Largest width of a gutter in texels."""

STEPS: tuple[Callable[[Graph], Graph], ...] = (
    drop_identities,
    in_parts,
    merge_same,
    merge_padding,
    leave_out_idle_taps,
    vectors_stay_vectors,
    peel_endings,
    fold_rescaling,
    fold_batch_norm,
    sums_as_residuals,
    fuse_residual,
    fuse_activation,
    activate_before_moving,
    convolve_before_enlarging,
    average_terms,
    convolve_terms,
    average_before_enlarging,
    sigmoids_as_pieces,
    vectors_apart,
    maps_of_vectors,
    long_vectors,
    split_wide_padding,
    replace_by_shape,
)
