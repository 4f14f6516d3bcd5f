"""Rewrites of graphs with ranges: fused products, means in two passes, and merged maps of zeros."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from glsl_infer import ops
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.compiler.ranges.wide import textures_of_maps
from glsl_infer.graph import Graph, Node
from glsl_infer.graph.activations.clipped import LINEAR
from glsl_infer.lowering import weights_plan
from glsl_infer.lowering.bindings import MAX_TEXTURES
from glsl_infer.program.layout import slices_of


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


MOST_GATED = 128
"""Largest number of channels of a map whose gates a convolution fetches. A shader for a number that is no multiple of 4
would need more registers than VideoCore IV has, with weights of 16 bits."""

MOST_GATE_WORK = 6e6
"""Largest number of instructions times pixels that gates add to a convolution of 8 bits. A Pi Zero takes 0.5 ms for
them, and 0.5 to 0.8 ms for the job of a product."""

LARGE = 1e9
"""Largest number before an activation whose range is to be known."""


def gated_convolutions(graph: Graph, layout: str) -> Graph:
    """Return a graph with ranges in which 1x1 convolutions of a product with gates fetch the gates themselves.

    The product then takes no job, and is not rounded.

    Args:
        graph: a graph with ranges.
        layout: the layout of its textures.
    """
    products: dict[str, Node] = {}
    for node in graph.nodes:
        product = graph.by_name[node.inputs[0]] if ops.get(node.op).convolves else node
        if product is node or not _is_product(product) or product.name in graph.output_layers:
            continue
        if len(graph.consumers[product.name]) == 1 and _reads_gates(graph, node, *_map_and_vector(graph, product)):
            products[node.name] = product
    if not products:
        return graph
    textures, changed = textures_of_maps(graph, layout), dict[str, Node]()
    for name, product in products.items():
        source, gates = _map_and_vector(graph, product)
        inputs = (source, *graph.by_name[name].inputs[1:], gates)
        if len(textures[source]) + len(inputs) <= MAX_TEXTURES:  # one texture for each other input, and the weights
            changed[name] = replace(graph.by_name[name], op="gated_convolution", inputs=inputs)
    gone = {products[name].name for name in changed}
    return graph.rebuilt([changed.get(node.name, node) for node in graph.nodes if node.name not in gone])


def _map_and_vector(graph: Graph, product: Node) -> tuple[str, str]:
    """Return the inputs of a product, the map first if the other one is a vector."""
    first, second = product.inputs
    return (first, second) if len(graph.shapes[first]) >= len(graph.shapes[second]) else (second, first)


def _reads_gates(graph: Graph, node: Node, source: str, gates: str) -> bool:
    """Return whether a convolution can multiply a map by a vector, and takes less time than a separate product."""
    shape, (height, width, filters) = graph.shapes[source], graph.shapes[node.name]
    single_pixels = node.weights["kernel"].shape[:2] == (1, 1) and not any(node.attrs["padding"])
    if not single_pixels or node.attrs["groups"] > 1 or graph.by_name[source].operator.is_input:
        return False
    if graph.shapes[gates] != shape[2:] or shape[2] > MOST_GATED or shape[2] % 4:
        return False
    if weights_plan.GATE * shape[2] * slices_of(filters) * height * width > MOST_GATE_WORK:
        return False
    with np.errstate(all="ignore"):
        low, high = graph.by_name[gates].activation.range(np.array([-LARGE]), np.array([LARGE]))
    return bool((low >= 0.0).all() and (high <= 1.0).all())


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
    nodes: list[Node] = []
    for node in graph.nodes:
        inputs = list(node.inputs)
        for index in range(len(inputs) if ops.get(node.op).averages else 0):
            windows = windows_of(graph, node, index)
            if windows is not None:
                inputs[index] = windows.name
                nodes.append(windows)
        nodes.append(replace(node, inputs=tuple(inputs)))
    return graph.rebuilt(nodes) if len(nodes) > len(graph.nodes) else graph


def windows_of(graph: Graph, mean: Node, index: int) -> Node | None:
    """Return the node that averages windows of an input of a mean, or None if the input is small."""
    name = mean.inputs[index]
    height, width, _ = graph.shapes[name]
    window = _window(height, width)
    if window is None or graph.by_name[name].operator.is_input:
        return None
    learnt = ranges_of(graph)[name]
    attrs = {"pool": window, "strides": window, "scales": learnt.scales, "zeros": learnt.zeros, "bits": 16}
    return Node(f"{mean.name}-windows{index + 1}", "average_pool", (name,), {**ops.get("average_pool").attrs, **attrs})


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
