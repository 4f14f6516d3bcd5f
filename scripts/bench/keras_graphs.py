"""Graphs of Keras networks, created in a separate process: TensorFlow and Mesa's LLVM cannot share one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from glsl_infer.errors import InputError
from glsl_infer.graph import Graph, Node

SCRIPT = Path(__file__).with_name("networks_in_keras.py")


def write(graph: Graph, path: Path, **facts: Any) -> None:
    """Write a graph, and facts about it, as plain data, because pickle refuses the read-only mappings of nodes."""
    nodes = [(node.name, node.op, node.inputs, dict(node.attrs), dict(node.weights)) for node in graph.nodes]
    path.write_bytes(pickle.dumps((graph.name, nodes, graph.outputs, facts)))


def read(path: Path) -> Graph:
    """Read the graph of ``write``; pickle is safe only for files from the project's own processes."""
    return read_all(path)[0]


def read_all(path: Path) -> tuple[Graph, dict[str, Any]]:
    """Read the graph and the facts of ``write``."""
    name, nodes, outputs, facts = pickle.loads(path.read_bytes())
    return Graph(name, tuple(Node(*node) for node in nodes), outputs), facts


def run(network: str | Path, folder: Path) -> Graph:
    """Create a network with ``networks_in_keras.py`` in ``folder``, for the images in its ``pictures.npz``.

    Raises:
        InputError: Keras failed.
    """
    command = [sys.executable, str(SCRIPT), str(network), str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, errors="replace")
    if done.returncode:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise InputError(f"{network}: Keras failed: {last}")
    return read(folder / f"{Path(network).stem}.graph")
