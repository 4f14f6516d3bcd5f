"""The optimised graph of some nodes, compared with the graph as it was."""

from __future__ import annotations

import numpy as np
from graphs import input_node

from glsl_infer.compiler import optimize
from glsl_infer.graph import Graph, Node, reference


def optimized(*nodes: Node) -> Graph:
    """Return the optimised graph of some nodes that read ``image``, 6x6 pixels, and check its output."""
    graph = Graph("network", (input_node(6), *nodes), nodes[-1].name)
    smaller = optimize.optimize(graph)
    picture = np.random.default_rng(1).integers(0, 256, (6, 6, 3), np.uint8)
    expected, result = (reference.run(each, picture) for each in (graph, smaller))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    return smaller
