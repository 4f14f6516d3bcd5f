"""Transport of a graph from the process with Keras to the process that draws."""

from __future__ import annotations

import pickle
from pathlib import Path

from glsl_infer.graph import Graph, Node


def write(graph: Graph, path: Path) -> None:
    """Write a graph as plain data, because pickle refuses the read-only mappings of nodes."""
    nodes = [(node.name, node.op, node.inputs, dict(node.attrs), dict(node.weights)) for node in graph.nodes]
    path.write_bytes(pickle.dumps((graph.name, nodes, graph.output)))


def read(path: Path) -> Graph:
    """Read a file of ``write``; pickle is safe only for files from the project's own processes."""
    name, nodes, output = pickle.loads(path.read_bytes())
    return Graph(name, tuple(Node(*node) for node in nodes), output)
