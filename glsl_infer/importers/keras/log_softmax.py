"""The logarithm of a softmax -> nodes for the CPU, computed from differences to keep small probabilities accurate."""

from __future__ import annotations

from glsl_infer.graph import Node


def nodes(name: str, source: str, axis: int) -> list[Node]:
    """Return the nodes for a tensor. The first is called ``name``; the last is the result."""
    less, over = {"operation": "subtract"}, {"axes": (axis,), "keep": True}
    return [
        Node(name, "tensor_reduce", (source,), {"reduction": "max", **over}),
        Node(f"{name}-apart", "tensor_binary", (source, name), dict(less)),
        Node(f"{name}-exp", "tensor_function", (f"{name}-apart",), {"function": "exponential"}),
        Node(f"{name}-sum", "tensor_reduce", (f"{name}-exp",), {"reduction": "sum", **over}),
        Node(f"{name}-log", "tensor_function", (f"{name}-sum",), {"function": "log"}),
        Node(f"{name}-result", "tensor_binary", (f"{name}-apart", f"{name}-log"), dict(less)),
    ]
