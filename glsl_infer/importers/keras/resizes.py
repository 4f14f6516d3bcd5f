"""Converters of Keras' resizes and affine transforms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.keras.call import Call, array, is_tensor

RESAMPLED_METHODS = ("bicubic", "lanczos3", "lanczos5")
"""Interpolations computed as weighted sums of rows and columns."""


def resampled(call: Call, size: tuple[int, int], interpolation: str, *, antialias: bool) -> list[Node]:
    """Return the nodes of a resize to (height, width): rows, then columns, as weighted sums.

    Raises:
        ModelError: a pixel depends on too many others.
    """
    nodes: list[Node] = []
    for axis, (before, after) in enumerate(zip(call.shapes[0][:2], size)):
        if before == after:
            continue
        sums = emit.weighted_sums(_matrix(before, after, interpolation, antialias=antialias), np.zeros(after), axis)
        if sums is None:
            raise call.refused(f"a resize of {before} to {after} pixels, smoothed", "pool by whole factors before it")
        name = f"{call.name}-columns" if nodes else call.name
        nodes.append(Node(name, "resample", (nodes[-1].name,) if nodes else call.inputs, *sums))
    return nodes or [call.node("identity")]


def _matrix(before: int, after: int, interpolation: str, *, antialias: bool) -> NDArray[np.float64]:
    """Return Keras' matrix (after, before): the weights of the ``before`` pixels of a row for each ``after`` pixel."""
    from keras import ops

    units = np.eye(before, dtype=np.float32)[:, None]
    resized = ops.image.resize(units, (after, 1), interpolation, antialias=antialias, data_format="channels_last")
    return np.asarray(ops.convert_to_numpy(resized), np.float64).reshape(after, before)


_SHADER_METHODS = {"nearest": "nearest", "bilinear": "bilinear"}
"""Interpolations with a shader of their own, by their names in Keras."""


def resizing(call: Call) -> list[Node]:
    """Convert a Resizing layer."""
    return _converted(call, (int(call.layer.height), int(call.layer.width)))


def resize(call: Call) -> list[Node]:
    """Convert ``keras.ops.image.resize``."""
    size = tuple(int(length) for length in call.layer.size)
    return _converted(call, (size[0], size[1]))


def _converted(call: Call, size: tuple[int, int]) -> list[Node]:
    layer, source, shape = call.layer, call.inputs[0], call.shapes[0]
    call.require_channels_last()
    sides = shape[:2]
    fitting = (sides[1] * size[0] // size[1], sides[0] * size[1] // size[0])  # in the ratio of ``size``
    if getattr(layer, "crop_to_aspect_ratio", False):  # the middle of the map
        lengths = [max(min(side, fit), 1) for side, fit in zip(sides, fitting)]
        parts = [range((side - length) // 2, (side - length) // 2 + length) for side, length in zip(sides, lengths)]
        nodes = emit.sliced(call.name, source, shape, [*parts, range(shape[2])])
    elif getattr(layer, "pad_to_aspect_ratio", False):  # both sides equally; an odd pixel is not added
        margins = [(max(side, fit) - side) // 2 for side, fit in zip(sides, fitting)]
        lengths = [side + 2 * margin for side, margin in zip(sides, margins)]
        widths = [*((margin, margin) for margin in margins), (0, 0)]
        nodes = emit.padded(call.name, source, shape, widths, "constant", float(layer.fill_value))
    else:
        lengths = list(sides)
    if tuple(lengths) == sides:
        return _resized(call, size, str(layer.interpolation), bool(layer.antialias))
    resized = replace(call, name=f"{call.name}-resized", inputs=(nodes[-1].name,), shapes=((*lengths, shape[2]),))
    return [*nodes, *_resized(resized, size, str(layer.interpolation), bool(layer.antialias))]


def _resized(call: Call, size: tuple[int, int], interpolation: str, antialias: bool) -> list[Node]:
    smoothed = antialias and (size[0] < call.shapes[0][0] or size[1] < call.shapes[0][1])
    if interpolation in RESAMPLED_METHODS or (smoothed and interpolation == "bilinear"):
        return resampled(call, size, interpolation, antialias=antialias)
    if interpolation not in _SHADER_METHODS:
        methods = ", ".join((*_SHADER_METHODS, *RESAMPLED_METHODS))
        raise call.refused(f"interpolation='{interpolation}'", f"use one of: {methods}")
    return [call.node("resize", {"size": size, "method": _SHADER_METHODS[interpolation], "convention": "half_pixel"})]


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
        options = f"interpolation='{layer.interpolation}', fill_mode='{layer.fill_mode}', fill_value={layer.fill_value}"
        raise call.refused(options, f"use bilinear or nearest, and fill_mode {', '.join(_PADDINGS)} with fill_value=0")
    picture, transform = call.arguments[:2]
    if not is_tensor(picture) or len(call.shapes[0]) != 3:
        raise call.refused(
            "a transform of a tensor that is not a feature map", "give it a feature map (height, width, channels)"
        )
    height, width = call.shapes[0][:2]
    attrs = {"mode": layer.interpolation, "padding": _PADDINGS[layer.fill_mode], "align_corners": False}
    rows, columns = np.mgrid[:height, :width].reshape(2, -1)
    points: NDArray[np.float32] = np.stack([columns, rows, np.ones_like(rows)]).astype(np.float32)
    # From pixels to the coordinates of ``grid_sample``, where -1 and 1 are the edges of the map.
    size = np.array([width, height], np.float64)
    scale, shift = (2 / size).astype(np.float32), (1 / size - 1).astype(np.float32)
    if is_tensor(transform):
        if call.shapes[1] != (8,):
            raise call.refused(f"transforms of shape {call.shapes[1]}", "give it eight numbers for each image")
        grid_nodes = _computed_grid(call.name, call.inputs[1:], (height, width), points, scale, shift)
        return [*grid_nodes, Node(f"{call.name}-sampled", "grid_sample", (call.inputs[0], grid_nodes[-1].name), attrs)]
    parameters = array(transform)
    if parameters.size != 8:
        raise call.refused(f"a transform of shape {parameters.shape}", "give it eight numbers")
    x, y, divisor = np.append(parameters.reshape(-1), 1.0).reshape(3, 3) @ points.astype(np.float64)
    grid = np.stack([x / divisor, y / divisor], -1) * scale + shift
    return [call.node("grid_sample", attrs, grid=grid.reshape(height, width, 2).astype(np.float32))]


def _computed_grid(
    name: str,
    transform: tuple[str, ...],
    size: tuple[int, int],
    points: NDArray[np.float32],
    scale: NDArray[np.float32],
    shift: NDArray[np.float32],
) -> list[Node]:
    """Return the nodes of the sampling grid of a transform that the network computes.

    Args:
        name: of the first node.
        transform: name of the node of the eight parameters.
        size: (height, width) of the map.
        points: homogeneous coordinates (x, y, 1) of its pixels, (3, pixels).
        scale: factors of x and y from pixels to the coordinates of ``grid_sample``.
        shift: offsets, added after the multiplication.
    """
    height, width = size

    def rows_of_points(suffix: str, first: int, count: int) -> Node:
        attrs = {"begin": (first, 0), "size": (count, height * width), "strides": (1, 1)}
        return Node(f"{name}-{suffix}", "tensor_slice", (f"{name}-points",), attrs)

    return [
        Node(name, "linear", transform, {}, {"kernel": _MATRIX, "bias": _LAST}),
        Node(f"{name}-matrix", "tensor_reshape", (name,), {"shape": (3, 3)}),
        Node(f"{name}-points", "linear", (f"{name}-matrix",), {}, {"kernel": points}),
        rows_of_points("scaled", 0, 2),
        rows_of_points("divisor", 2, 1),
        Node(f"{name}-pixels", "tensor_binary", (f"{name}-scaled", f"{name}-divisor"), {"operation": "divide"}),
        Node(f"{name}-pairs", "tensor_transpose", (f"{name}-pixels",), {"axes": (1, 0)}),
        Node(f"{name}-sized", "tensor_binary", (f"{name}-pairs",), {"operation": "multiply"}, {"constant": scale}),
        Node(f"{name}-shifted", "tensor_binary", (f"{name}-sized",), {"operation": "add"}, {"constant": shift}),
        Node(f"{name}-grid", "tensor_reshape", (f"{name}-shifted",), {"shape": (height, width, 2)}),
    ]
