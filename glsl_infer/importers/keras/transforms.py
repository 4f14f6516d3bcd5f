"""``keras.ops.image.affine_transform``: a map sampled at the points of a matrix, as in spatial transformers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call, array, is_tensor

_PADDINGS = {"constant": "zeros", "nearest": "border", "reflect": "reflection"}

_MATRIX = np.eye(8, 9, dtype=np.float32)
_LAST = np.eye(9, dtype=np.float32)[8]
"""Last row of the matrix that extends the eight parameters of a transform to nine: the ninth is 1."""


def affine(call: Call) -> list[Node]:
    """Convert an affine (or projective) transform: constant, or computed by the network.

    A point (x, y) of the output reads (a x + b y + c, d x + e y + f) / (g x + h y + 1), in pixels.

    Raises:
        ModelError: an option does not have a counterpart.
    """
    layer = call.layer
    call.require_channels_last()
    constant = layer.fill_mode == "constant" and float(layer.fill_value or 0) != 0
    if layer.interpolation not in ("bilinear", "nearest") or layer.fill_mode not in _PADDINGS or constant:
        given = f"interpolation='{layer.interpolation}', fill_mode='{layer.fill_mode}', fill_value={layer.fill_value}"
        raise call.refused(given, f"use bilinear or nearest, and fill_mode {', '.join(_PADDINGS)} with fill_value=0")
    picture, transform = call.arguments[:2]
    if not is_tensor(picture) or len(call.shapes[0]) != 3:
        raise call.refused(
            "a transform of a tensor that is not a feature map", "give it a feature map (height, width, channels)"
        )
    height, width = call.shapes[0][:2]
    attrs = {"mode": layer.interpolation, "padding": _PADDINGS[layer.fill_mode], "align_corners": False}
    rows, columns = np.mgrid[:height, :width].reshape(2, -1)
    points: NDArray[np.float32] = np.stack([columns, rows, np.ones_like(rows)]).astype(np.float32)
    size = np.array([width, height], np.float64)
    scale, shift = (2 / size).astype(np.float32), (1 / size - 1).astype(np.float32)
    if not is_tensor(transform):
        numbers = array(transform).reshape(-1)
        if numbers.size != 8:
            raise call.refused(f"a transform of shape {array(transform).shape}", "give it eight numbers")
        x, y, z = np.append(numbers, 1.0).reshape(3, 3) @ points.astype(np.float64)
        grid = np.stack([x / z, y / z], -1) * scale + shift
        return [call.node("grid_sample", attrs, grid=grid.reshape(height, width, 2).astype(np.float32))]
    if call.shapes[1] != (8,):
        raise call.refused(f"transforms of shape {call.shapes[1]}", "give it eight numbers for each picture")
    name = call.name

    def cut(part: str, first: int, count: int) -> Node:
        attrs = {"begin": (first, 0), "size": (count, height * width), "strides": (1, 1)}
        return Node(f"{name}-{part}", "tensor_slice", (f"{name}-points",), attrs)

    return [
        Node(name, "linear", call.inputs[1:], {}, {"kernel": _MATRIX, "bias": _LAST}),
        Node(f"{name}-matrix", "tensor_reshape", (name,), {"shape": (3, 3)}),
        Node(f"{name}-points", "linear", (f"{name}-matrix",), {}, {"kernel": points}),
        cut("scaled", 0, 2),
        cut("divisor", 2, 1),
        Node(f"{name}-pixels", "tensor_binary", (f"{name}-scaled", f"{name}-divisor"), {"operation": "divide"}),
        Node(f"{name}-pairs", "tensor_transpose", (f"{name}-pixels",), {"axes": (1, 0)}),
        Node(f"{name}-sized", "tensor_binary", (f"{name}-pairs",), {"operation": "multiply"}, {"constant": scale}),
        Node(f"{name}-shifted", "tensor_binary", (f"{name}-sized",), {"operation": "add"}, {"constant": shift}),
        Node(f"{name}-grid", "tensor_reshape", (f"{name}-shifted",), {"shape": (height, width, 2)}),
        Node(f"{name}-sampled", "grid_sample", (call.inputs[0], f"{name}-grid"), attrs),
    ]
