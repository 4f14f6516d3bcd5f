"""Layers that several frameworks have by different names, composed of nodes."""

from __future__ import annotations

from glsl_infer.graph import Node, Shape


def space_to_depth(name: str, source: str, shape: Shape, block: int) -> list[Node]:
    """Return the nodes of a space to depth. The channels of each phase of pixels are consecutive.

    Args:
        name: of the layer, and of the first node.
        source: name of the input node, of ``shape``.
        shape: (height, width, channels). Height and width are multiples of the block.
        block: height and width of a block.
    """
    size = (shape[0] // block, shape[1] // block)
    nodes: list[Node] = []
    for y in range(block):
        for x in range(block):
            attrs = {"begin": (y, x), "size": size, "strides": (block, block)}
            nodes.append(Node(f"{name}-{y}-{x}" if nodes else name, "spatial_slice", (source,), attrs))
    return [*nodes, Node(f"{name}-joined", "concat", tuple(node.name for node in nodes))]


def part_of(name: str, source: str, shape: Shape, parts: tuple[range, range, range]) -> list[Node]:
    """Return the nodes of a slice of rows, columns and channels of a map of ``shape``. None of the ranges is empty."""
    rows, columns, channels = parts
    nodes: list[Node] = []
    if (rows, columns) != (range(shape[0]), range(shape[1])):
        attrs = {"begin": (rows.start, columns.start), "size": (len(rows), len(columns))}
        nodes.append(Node(name, "spatial_slice", (source,), {**attrs, "strides": (rows.step, columns.step)}))
    if channels != range(shape[2]):
        own, read = (f"{name}-channels", name) if nodes else (name, source)
        nodes.append(Node(own, "channel_gather", (read,), {"channels": tuple(channels)}))
    return nodes or [Node(name, "identity", (source,))]
