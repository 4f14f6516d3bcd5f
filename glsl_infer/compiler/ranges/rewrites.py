"""Rewrites of graphs with ranges: products fused into sums, means in two passes, and merged maps of zeros."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR


def gated_sums(graph: Graph) -> Graph:
    """Return a graph with ranges in which sums of a product and one other map are ``gated_sum`` nodes."""
    outputs = {layer for output in graph.outputs for layer in output.layers}
    gone: set[str] = set()
    changed: dict[str, Node] = {}
    for node in graph.nodes:
        two = len(node.inputs) == len({*node.inputs}) == 2
        if not ops.get(node.op).adds or not two or len(graph.shapes[node.name]) != 3:
            continue
        for product, other in (node.inputs, node.inputs[::-1]):
            read = graph.by_name[product]
            if product not in outputs | gone and len(graph.consumers[product]) == 1 and _is_product(read):
                gone.add(product)
                changed[node.name] = replace(node, op="gated_sum", inputs=(*read.inputs, other))
                break
    return graph.rebuilt([changed.get(node.name, node) for node in graph.nodes if node.name not in gone])


def _is_product(node: Node) -> bool:
    multiplies = ops.get(node.op).broadcasts and node.attrs.get("operation") == "multiply"
    return multiplies and node.activation == LINEAR


MOST_IN_A_MEAN = 1024
"""Largest number of pixels of a map whose means take one pass.

By the simulation, means of 16 channels take a Pi Zero 3 ms for 2,304 pixels, and 14 ms for 9,216. Windows take about
1 ms, with their job.
"""

WINDOWS = (9, 16)
"""Smallest and largest number of pixels of such a window. Bytes have means that 16 bits store exactly, in windows of 16
pixels. Windows of 64 leave fewer pixels, but VideoCore IV's caches are too small for them."""


def means_in_two_passes(graph: Graph) -> Graph:
    """Return a graph with ranges in which windows of large maps are averaged first, into 16-bit maps.

    A mean is a few texels, each of which reads all pixels, so most processors of a GPU are idle meanwhile.
    """
    ranges = ranges_of(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = list(node.inputs)
        for index, name in enumerate(node.inputs if ops.get(node.op).averages else ()):
            height, width, _ = graph.shapes[name]
            window = _window(height, width)
            if window is None or graph.by_name[name].operator.is_input:
                continue
            inputs[index] = f"{node.name}-windows{index + 1}"
            stored = {"scales": ranges[name].scales, "zeros": ranges[name].zeros, "bits": 16}
            attrs = {**ops.get("average_pool").attrs, "pool": window, "strides": window, **stored}
            nodes.append(Node(inputs[index], "average_pool", (name,), attrs))
        nodes.append(replace(node, inputs=tuple(inputs)))
    return graph.rebuilt(nodes) if len(nodes) > len(graph.nodes) else graph


def _window(height: int, width: int) -> tuple[int, int] | None:
    """Return the largest window that divides a large map, as square as possible; None for other maps."""
    if height * width <= MOST_IN_A_MEAN:
        return None
    least, most = WINDOWS
    sizes = ((y, x) for y in range(1, most + 1) for x in range(1, most // y + 1))
    possible = [(y, x) for y, x in sizes if not height % y and not width % x and y * x >= least]
    return max(possible, key=lambda size: (size[0] * size[1], -max(size)), default=None)


def dedupe_zero_maps(graph: Graph) -> Graph:
    """Replace all maps of zeros of one shape, range and precision by the first, and drop unread nodes.

    Each would be a job of its own. On VideoCore IV a job takes longer than the drawing of such a map. The graph must be
    prepared: before ranges and precision are chosen, layers of one shape need not be stored alike.
    """
    first: dict[str, str] = {}
    renamed: dict[str, str] = {}
    outputs = {layer for output in graph.outputs for layer in output.layers}
    for node in graph.nodes:
        if node.name in outputs or not _is_zero(node):
            continue
        attrs = {name: value for name, value in node.attrs.items() if name not in ("fused", "groups")}
        key = repr((graph.shapes[node.name], sorted(attrs.items(), key=lambda item: item[0])))
        if first.setdefault(key, node.name) != node.name:
            renamed[node.name] = first[key]
    if not renamed:
        return _sooner(graph, set(first.values()))
    deduped = graph.rebuilt([node for node in graph.nodes if node.name not in renamed], renamed)
    needed = set(outputs)
    for node in reversed(deduped.nodes):
        if node.name in needed or not node.inputs:
            needed.update((node.name, *node.inputs))
    return _sooner(deduped.rebuilt([node for node in deduped.nodes if node.name in needed]), set(first.values()))


def _sooner(graph: Graph, zeros: Collection[str]) -> Graph:
    """Make maps of zeros read the input of a pooling instead of the pooling, to make both one job."""
    changed: dict[str, Node] = {}
    for name in zeros:
        node = graph.by_name[name]
        view = graph.by_name[node.inputs[0]]
        picked = view if "channels" in view.operator.attrs and len(graph.consumers[view.name]) == 1 else None
        read = graph.by_name[(picked or node).inputs[0]]
        strides = _strides(graph, read)
        if strides is None or node.attrs["strides"] != (1, 1):
            continue
        if picked is not None:
            changed[picked.name] = replace(picked, inputs=read.inputs)
            changed[name] = node.with_attrs(strides=strides)
        else:
            changed[name] = replace(node.with_attrs(strides=strides), inputs=read.inputs)
    return graph.rebuilt([changed.get(node.name, node) for node in graph.nodes]) if changed else graph


def _strides(graph: Graph, node: Node) -> tuple[int, int] | None:
    """Return the strides at which a pooling's input has as many pixels as its output, or None."""
    if not ops.get(node.op).keeps_range or len(node.inputs) != 1 or graph.by_name[node.inputs[0]].operator.is_input:
        return None
    before, after = graph.shapes[node.inputs[0]], graph.shapes[node.name]
    if len(before) != 3 or len(after) != 3 or before[2] != after[2]:
        return None
    down, across = (-(-whole // pixels) for whole, pixels in zip(before, after[:2]))
    pooled = (-(-before[0] // down), -(-before[1] // across))
    return (down, across) if pooled == after[:2] and max(down, across) > 1 else None


def _is_zero(node: Node) -> bool:
    """Return whether a node's output is 0 for all inputs."""
    alone = ops.get(node.op).convolves and len(node.inputs) == 1 and node.activation == LINEAR
    return alone and not any(weights.any() for weights in node.weights.values())
