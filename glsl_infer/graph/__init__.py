"""A network as data: nodes, shapes, activations, and its numbers in NumPy."""

from glsl_infer.graph.network import Graph, GraphOutput
from glsl_infer.graph.node import Array, Node, Shape

__all__ = ["Array", "Graph", "GraphOutput", "Node", "Shape"]
