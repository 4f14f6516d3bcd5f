"""A network as data: nodes, shapes, activations, and their values in NumPy."""

import importlib
import typing

if typing.TYPE_CHECKING:
    from glsl_infer.graph.network import Graph, GraphOutput
    from glsl_infer.graph.node import Array, Node, Shape

__all__ = ["Array", "Graph", "GraphOutput", "Node", "Shape"]

_HOMES = {"Array": "node", "Graph": "network", "GraphOutput": "network", "Node": "node", "Shape": "node"}
"""Module of each exported name. Runners start faster without these modules, so they are imported on first use."""


def __getattr__(name: str) -> typing.Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
