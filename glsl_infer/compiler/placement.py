"""Where an operator runs: in shaders, or beside them on the CPU."""

from __future__ import annotations

from glsl_infer import ops
from glsl_infer.graph import Node

SHADER, CPU = "shader", "CPU"


def place_of(node: Node) -> str:
    """Return where a node of an optimised graph runs: ``SHADER`` or ``CPU``."""
    operator = ops.get(node.op)
    return SHADER if operator.has_shader or operator.staged else CPU
