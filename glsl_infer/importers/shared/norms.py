"""Nodes of normalisations by the statistics of the map itself."""

from __future__ import annotations

from glsl_infer.graph import Node, Shape

Numbers = tuple[float, ...]


def over_channels(
    name: str, source: str, shape: Shape, kind: str, epsilon: float, gamma: Numbers = (1.0,), beta: Numbers = (0.0,)
) -> Node:
    """Return the node of a normalisation over the channels of each pixel, or over a vector.

    Args:
        name: of the node.
        source: name of the input node, of ``shape``.
        shape: (height, width, channels) or (channels,).
        kind: ``layer``, ``rms`` or ``unit``, as in ``ops.channel_norm``.
        epsilon: added to the variance.
        gamma: factors: one, or one per channel.
        beta: offsets added after the multiplication: one, or one per channel.
    """
    op = "vector_norm" if len(shape) == 1 else "channel_norm"
    return Node(name, op, (source,), {"kind": kind, "gamma": gamma, "beta": beta, "epsilon": epsilon})


def over_map(
    name: str, source: str, shape: Shape, groups: int, epsilon: float, gamma: Numbers, beta: Numbers
) -> list[Node]:
    """Return the nodes of a normalisation over rows, columns and ``groups`` groups of channels."""
    deviation = f"{name}-deviation"
    nodes = [
        Node(name, "global_average_pool", (source,), {"scale": None}),
        Node(deviation, "global_deviation", (source,), {"scale": None}),
    ]
    statistics = (name, deviation)
    if groups != shape[2]:
        mean, spread = (f"{name}-group-{part}" for part in ("mean", "deviation"))
        for made, part in ((mean, "mean"), (spread, "deviation")):
            attrs = {"groups": groups, "statistic": part, "scale": None}
            nodes.append(Node(made, "group_statistics", (name, deviation), attrs))
        statistics = (mean, spread)
    attrs = {"gamma": gamma, "beta": beta, "epsilon": epsilon}
    return [*nodes, Node(f"{name}-norm", "map_norm", (source, *statistics), attrs)]
