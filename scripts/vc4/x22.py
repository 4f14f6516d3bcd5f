"""X22 as a graph with random weights, without Keras: as imported, with batch norm already folded.

The compiled form of its shaders depends only on shapes.
"""

from __future__ import annotations

import numpy as np

from glsl_infer.graph import Graph, Node

STAGES = ((2, 32, False), (3, 64, True), (3, 128, True), (4, 192, True), (5, 192, True))
"""Number of residual units, channels after them, and whether the units shuffle; see docs/engineering/design.md."""

ACTIVATION = "piecewise_linear_sigmoid"
SAME = (1, 1, 1, 1)


def x22(size: int, classes: int) -> Graph:
    """Return the network for images of ``size`` x ``size`` pixels (385 or 257)."""
    rng = np.random.default_rng(22)
    nodes = [Node("image", "input", (), {"shape": (size, size, 3)})]

    def convolution(name: str, inputs: tuple[str, ...], channels: int, filters: int, side: int, groups: int) -> str:
        shape = (side, side, channels // groups, filters)
        spread = 1.0 / np.sqrt(side * side * channels / groups)
        weights = {
            "kernel": rng.normal(0.0, spread, shape).astype(np.float32),
            "bias": rng.normal(0.0, 0.5, filters).astype(np.float32),
        }
        inside = side == 3 and len(inputs) > 1
        attrs = {
            "groups": groups,
            "strides": (1, 1) if inside or side == 1 or name == "b6-conv" else (2, 2),
            "padding": SAME if inside else (0, 0, 0, 0),
            "activation": ACTIVATION,
        }
        nodes.append(Node(name, "conv2d", inputs, attrs, weights))
        return name

    before, depth = convolution("b0-conv", ("image",), 3, 32, 5, 1), 32
    for stage, (units, out, shuffled) in enumerate(STAGES, 1):
        for unit in range(1, units + 1):
            read = name = f"b{stage}-stage{unit}"
            if shuffled:
                nodes.append(Node(f"{name}-shuffle", "channel_shuffle", (before,), {"step": 8}))
                read = f"{name}-shuffle"
            else:
                read = before
            pointwise = convolution(f"{name}-pw", (read,), depth, depth, 1, max(depth // 32, 1))
            before = convolution(f"{name}-dw", (pointwise, before), depth, depth, 3, depth // 4)
        before, depth = convolution(f"b{stage}-scale", (before,), depth, out, 3, depth // 8), out
    before = convolution("b6-conv", (before,), depth, depth, 3, depth // 8)
    nodes.append(Node("pool", "global_average_pool", (before,), {"scale": None}))
    weights = {
        "kernel": rng.normal(0.0, 0.1, (depth, classes)).astype(np.float32),
        "bias": np.zeros(classes, np.float32),
    }
    nodes.append(Node("dense", "dense", ("pool",), {"activation": "linear"}, weights))
    return Graph("x22", tuple(nodes), "dense")
