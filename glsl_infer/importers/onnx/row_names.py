"""Names of a file's operators and tensors in tables, and placeholders for outputs of refused operators."""

from __future__ import annotations

from glsl_infer.graph import Shape
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.onnx.view import View, fresh

_NAME_LENGTH = 96


def placeholder(builder: GraphBuilder, name: str, shape: Shape) -> View | None:
    """Return an input as the placeholder for an output of a refused operator; None if inputs cannot have the shape."""
    ours: Shape
    order: tuple[int, ...]
    if len(shape) == 4 and shape[0] == 1 and all(shape):
        ours, order = (shape[2], shape[3], shape[1]), (2, 3, 1)
    elif len(shape) == 2 and shape[0] == 1 and all(shape):
        ours, order = (shape[1],), (1,)
    else:
        return None
    builder.placeholder(name, ours)
    return fresh(name, shape, order)


def clean(name: str) -> str:
    """Return a tensor's name as a layer name: printable characters only, up to a length."""
    printable = name if name.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in name)
    return printable[:_NAME_LENGTH] or "?"
