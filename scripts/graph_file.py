"""A graph on its way from the process that has Keras to the one that draws."""

from __future__ import annotations

import pickle
from pathlib import Path

from glsl_infer.graph import Graph, Node


def write(graph: Graph, path: Path) -> None:
    """Write a graph, as plain data: nodes hold read-only mappings, which pickle refuses."""
    nodes = [(node.name, node.op, node.inputs, dict(node.attrs), dict(node.weights)) for node in graph.nodes]
    path.write_bytes(pickle.dumps((graph.name, nodes, graph.output)))


def read(path: Path) -> Graph:
    """Read what ``write`` wrote; only ever a file that a process of one's own made."""
    name, nodes, output = pickle.loads(path.read_bytes())
    return Graph(name, tuple(Node(*node) for node in nodes), output)
