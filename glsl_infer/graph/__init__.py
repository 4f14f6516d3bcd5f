"""A network as data: nodes, shapes, activations, and its numbers in NumPy."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from glsl_infer.graph.network import Graph, GraphOutput
    from glsl_infer.graph.node import Array, Node, Shape

__all__ = ["Array", "Graph", "GraphOutput", "Node", "Shape"]

_HOMES = {"Array": "node", "Graph": "network", "GraphOutput": "network", "Node": "node", "Shape": "node"}
"""Where each name is. A runner needs other modules of this room only: it starts sooner without these."""


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
