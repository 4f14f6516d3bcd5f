"""Squeeze-and-excite blocks in two passes: products of the means of maps, and two dense layers of their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glsl_infer import ops
from glsl_infer.compiler.ranges.intervals import ranges_of
from glsl_infer.compiler.ranges.rewrites import windows_of
from glsl_infer.graph import Graph, Node
from glsl_infer.ops.dense_of_sums import supports_inner
from glsl_infer.ops.mean_products import BLOCK, block_starts
from glsl_infer.program.layout import slices_of

MOST_SUMS = 1024
"""Largest number of texels of partial sums, all of which each two outputs fetch. By the simulation, a Pi Zero takes 0.5
ms for them."""

MOST_HIDDEN = 64
"""Largest number of outputs of the first dense layer. Each two average the maps again."""

MOST_OUTPUTS = 768
"""Largest number of outputs of the second dense layer, so that the processors compute all of them at once."""

PARTS = ((256, 16), (1024, 16), (1024, 1024))
"""Largest number of pixels and largest width of a part of a map, the mean of which a texel computes. The first are the
best. The others are for blocks with too many partial sums otherwise.

A cache line holds 4x4 pixels of a tile. If a row is long, the line is lost before the next row.
"""

MOST_FETCHES = 140_000
"""Largest number of fetches of a large map that are repeated for each two hidden values. By the simulation, a Pi Zero
takes 1 ms for them. Of other maps, windows are averaged first."""


def squeeze_in_two_passes(graph: Graph) -> Graph:
    """Return a graph with ranges, whose dense layers are split, in which two dense layers of means take two passes.

    The pass of the means stores their products with the weights of the first dense layer. The pass of the second adds
    them up.
    """
    gone: set[str] = set()
    changed: dict[str, list[Node]] = {}
    for last in graph.nodes:
        mean, *first = _stages(graph, last) or [last]
        replacing = _mean_products(graph, mean, first) if first and _is_small(first, last) else None
        if replacing is not None:
            changed |= {mean.name: replacing, last.name: [_dense_of_sums(replacing[-1], first[-1], last)]}
            gone.update(node.name for node in first)
    if not gone:
        return graph
    nodes = [changed.get(node.name, [node]) for node in graph.nodes if node.name not in gone]
    return graph.rebuilt([node for replacing in nodes for node in replacing])


def _stages(graph: Graph, last: Node) -> list[Node]:
    """Return a mean and the stages of a dense layer that only ``last``, another dense layer, reads; empty without."""
    if last.op != "dense_at_once":
        return []
    stages = [graph.by_name[last.inputs[0]]]
    if stages[0].op == "dense_sum":
        stages.insert(0, graph.by_name[stages[0].inputs[0]])
    if stages[0].op not in ("dense_at_once", "dense_products"):
        return []
    stages.insert(0, graph.by_name[stages[0].inputs[0]])
    read_once = all(len(graph.consumers[stage.name]) == 1 and stage.name not in graph.output_layers for stage in stages)
    return stages if ops.get(stages[0].op).averages and read_once else []


def _is_small(first: Sequence[Node], last: Node) -> bool:
    """Return whether two dense layers can be computed from partial sums of the first, and take less time then."""
    hidden, outputs = last.weights["kernel"].shape
    return hidden <= MOST_HIDDEN and outputs <= MOST_OUTPUTS and supports_inner(first[-1].activation)


def _mean_products(graph: Graph, mean: Node, first: Sequence[Node]) -> list[Node] | None:
    """Return the nodes that replace a mean, or None if there are too many partial sums."""
    kernel, ranges = first[0].weights["kernel"], ranges_of(graph)
    pairs = slices_of(kernel.shape[1], 2)
    windows, inputs = list[Node](), list[str]()
    sizes, blocks, counts = list[tuple[int, int]](), list[int](), list[int]()
    for index, read in enumerate(mean.inputs):
        name = read
        (height, width, channels), bits = graph.shapes[name], ranges[name].bits
        fetches = height * width * slices_of(channels, BLOCK[bits]) * pairs
        averaged = windows_of(graph, mean, index) if fetches > MOST_FETCHES else None
        if averaged is not None:
            windows.append(averaged)
            down, across = averaged.attrs["strides"]
            height, width, bits, name = height // down, width // across, 16, averaged.name
        inputs.append(name)
        sizes.append((height, width))
        blocks.append(BLOCK[bits])
        counts.append(len(block_starts(channels, blocks[-1])))
    for pixels, widest in PARTS:
        parts = [_parts(*size, pixels, widest) for size in sizes]
        columns = sum(count * down * across for count, (down, across) in zip(counts, parts))
        if columns * pairs <= MOST_SUMS:
            attrs = {"blocks": tuple(blocks), "parts": tuple(count for pair in parts for count in pair), "scale": None}
            name = f"{first[-1].name}-products"
            return [*windows, Node(name, "mean_products", tuple(inputs), attrs, {"kernel": kernel})]
    return None


def _parts(height: int, width: int, pixels: int, widest: int) -> tuple[int, int]:
    """Return the rows and columns of the fewest equal parts of a map; one part if those are far more than needed."""
    least = slices_of(height * width, pixels)
    rows, columns = ([count for count in range(1, side + 1) if not side % count] for side in (height, width))
    possible = [(down, across) for down in rows for across in columns if least <= down * across <= 4 * least]
    return min(possible, key=lambda parts: (width > widest * parts[1], parts[0] * parts[1], parts), default=(1, 1))


def _dense_of_sums(products: Node, first: Node, last: Node) -> Node:
    """Return the node that replaces the last stage of the first dense layer, and the second dense layer."""
    hidden = {f"hidden_{name}": first.attrs[name] for name in ("bias_scale", "row_unit")}
    attrs = {**last.attrs, **hidden, "inner": first.activation.text}
    weights = {f"hidden_{name}": first.weights[name] for name in ("row_scale", "bias")}
    return replace(last, op="dense_of_sums", inputs=(products.name,), attrs=attrs, weights={**last.weights, **weights})
