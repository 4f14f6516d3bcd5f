"""Converters of resizes.

The coordinate and rounding modes of the file determine a matrix for rows and one for columns. If a resize shader has
the same matrices, it is used, else weighted sums of rows and columns. Other axes are multiplied by the matrix on the
CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.graph import Node
from glsl_infer.importers.core.emit import weighted_sums
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.call import Call, Converter, as_in_file
from glsl_infer.importers.onnx.products import by_matrix
from glsl_infer.importers.onnx.relayout import map_axes, of_map
from glsl_infer.importers.onnx.view import View, fresh
from glsl_infer.ops.resize import CONVENTIONS, METHODS

Doubles = NDArray[np.float64]

LONGEST = 8192
"""Largest length of a resized axis."""

_TOLERANCE = 1e-5
"""Largest difference between the elements of equal matrices: files have 32-bit scales."""

_ROUND: dict[str, Callable[[Doubles], Doubles]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
}


def resize(call: Call) -> list[View]:
    """Convert a Resize or an Upsample."""
    view = call.view()
    rank = len(view.axes)
    axes = [call.axis(axis, rank) for axis in call.attribute("axes", tuple(range(rank)))]
    scales, sizes = _scales_and_sizes(call, view, axes)
    mode = call.attribute("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic", "bilinear"):
        raise call.refused(f"mode '{mode}'", "give nearest, linear or cubic")
    matrices: dict[int, Doubles] = {}
    for axis in range(rank):
        if sizes[axis] != view.shape[axis] or scales[axis] != 1.0:
            matrix = _matrix(call, view.shape[axis], sizes[axis], scales[axis], axes, axis)
            if not _is_identity(matrix):
                matrices[axis] = matrix
    if not matrices:
        return [view]
    outside = _values_outside(call, matrices)
    if rank == 4 and view.shape[0] == 1:
        axes_of_map = map_axes(view) if map_axes(view)[2] not in matrices else (2, 3, 1)
        if set(matrices) <= set(axes_of_map[:2]):
            return [_resized_map(call, view, matrices, outside, axes_of_map)]
    if rank == 3 and view.shape[0] == 1 and set(matrices) == {2}:
        node, shape = call.map()
        row = fresh(node, (1, shape[2], 1, shape[1]), (2, 3, 1))
        resized = _resized_map(call, row, {3: matrices[2]}, {3: outside[2]}, (2, 3, 1))
        return [View(resized.node, resized.stored, (resized.axes[0], resized.axes[1], resized.axes[3]))]
    if any(values.any() for values in outside.values()):
        raise call.refused("a region beyond the tensor with a value there", "give a region within it")
    for axis, matrix in matrices.items():
        view = _times(call, view, axis, matrix)
    return [view]


def _is_before_opset_11(call: Call) -> bool:
    """Return whether the operator has the inputs, the coordinates and the rounding of Upsample."""
    return call.kind == "Upsample" or call.opset < 11


def _scales_and_sizes(call: Call, view: View, axes: Sequence[int]) -> tuple[list[float], list[int]]:
    """Return the scale and the length of every axis.

    Args:
        call: the operator.
        view: its input.
        axes: the axes to resize.

    Raises:
        ModelError: the file has neither constant scales nor constant sizes, or these are out of range.
    """
    rank = len(view.axes)
    scales, sizes = [1.0] * rank, list(view.shape)
    file_scales = _file_scales(call)
    file_sizes = None if _is_before_opset_11(call) else call.integers(3, "its size")
    if file_sizes:
        if len(file_sizes) != len(axes) or min(file_sizes) < 1:
            raise call.refused(f"to {file_sizes}", "give a size for each axis")
        ratios = [size / view.shape[axis] for axis, size in zip(axes, file_sizes)]
        policy = call.attribute("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            ratios = [ratio] * len(axes)
            file_sizes = [int(np.floor(ratio * view.shape[axis] + 0.5)) for axis in axes]
        for axis, ratio, size in zip(axes, ratios, file_sizes):
            scales[axis], sizes[axis] = ratio, size
    elif file_scales is not None and len(file_scales) == len(axes):
        for axis, scale in zip(axes, file_scales):
            scales[axis] = float(np.float32(scale))
            sizes[axis] = int(np.floor(np.float32(view.shape[axis]) * np.float32(scale)))
    else:
        raise call.refused("without scales and sizes that are known", "give one of both as a constant")
    if min(sizes) < 1 or max(sizes) > LONGEST or min(scales) <= 0:
        raise call.refused(f"to {tuple(sizes)}", f"give sizes of 1 to {LONGEST}")
    return scales, sizes


def _file_scales(call: Call) -> Sequence[float] | None:
    """Return the scales in the file: an attribute or a constant input; None if it has none."""
    attribute: Sequence[float] | None = call.operator.attributes.get("scales")
    index = 1 if _is_before_opset_11(call) else 2
    if attribute is not None or not call.has(index) or not call.constant(index, "its scales").size:
        return attribute
    scales: list[float] = call.finite(call.constant(index, "its scales"), "its scales").reshape(-1).tolist()
    return scales


def _positions(call: Call, before: int, after: int, scale: float, axes: Sequence[int], axis: int) -> Doubles:
    """Return the position in the input of each index of the result, by the formulas of ONNX's Resize.

    Args:
        call: the operator.
        before: length of the axis in the input.
        after: its length in the result.
        scale: its scale, which differs from after / before if the file has scales.
        axes: the axes to resize, in the order of the file's region.
        axis: the axis.

    Raises:
        ModelError: the mode of the coordinates is not supported.
    """
    index = np.arange(after, dtype=np.float64)
    mode = "asymmetric" if _is_before_opset_11(call) else call.attribute("coordinate_transformation_mode", "half_pixel")
    if mode == "asymmetric":
        return index / scale
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and after > 1):
        return (index + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return 0.0 * index
    if mode == "align_corners":
        length = scale * before  # not an integer if the file has scales
        return index * (before - 1) / (length - 1.0) if after > 1 and length != 1.0 else 0.0 * index
    if mode == "tf_half_pixel_for_nn":
        return (index + 0.5) / scale
    if mode == "half_pixel_symmetric":
        adjusted = after / (scale * before)
        return before / 2 * (1.0 - adjusted) + (index + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        roi: Doubles = call.finite(call.constant(1, "a region"), "a region").reshape(2, -1)[:, list(axes).index(axis)]
        if after == 1:
            return np.full(1, 0.5 * float(roi[0] + roi[1]) * (before - 1))
        return float(roi[0]) * (before - 1) + index * float(roi[1] - roi[0]) * (before - 1) / (after - 1)
    raise call.refused(f"coordinates by '{mode}'", "give half_pixel, asymmetric or align_corners")


def _matrix(call: Call, before: int, after: int, scale: float, axes: Sequence[int], axis: int) -> Doubles:
    """Return the matrix (after, before) for the resize of one axis; arguments as for ``_positions``."""
    position = _positions(call, before, after, scale, axes, axis)
    if call.attribute("mode", "nearest") == "nearest":
        matrix = _nearest_matrix(call, before, scale, position)
    else:
        matrix = _weighted_matrix(call, before, scale, position)
    if call.attribute("coordinate_transformation_mode", "") == "tf_crop_and_resize":
        outside = (position < 0) | (position > before - 1)
        matrix[outside] = 0.0
    return matrix


def _nearest_matrix(call: Call, before: int, scale: float, position: Doubles) -> Doubles:
    """Return a matrix with a 1 at the input pixel nearest to each position."""
    if _is_before_opset_11(call):
        rounding = "floor" if scale >= 1 else "ceil"
    else:
        rounding = call.attribute("nearest_mode", "round_prefer_floor")
    nearest = _ROUND[rounding](np.round(position, 6)).astype(np.int64)
    matrix = np.zeros((len(position), before))
    matrix[np.arange(len(position)), np.clip(nearest, 0, before - 1)] = 1.0
    return matrix


def _weighted_matrix(call: Call, before: int, scale: float, position: Doubles) -> Doubles:
    """Return a matrix with the linear or cubic weights of the input pixels around each position.

    Antialiasing makes the window wider by 1 / scale if the result is smaller.
    """
    is_cubic = call.attribute("mode", "nearest") == "cubic"
    compression = min(scale, 1.0) if call.attribute("antialias", 0) else 1.0
    coefficient = float(call.attribute("cubic_coeff_a", -0.75))
    radius = int(np.ceil((2.0 if is_cubic else 1.0) / compression))
    exclude_outside = bool(call.attribute("exclude_outside", 0))
    matrix = np.zeros((len(position), before))
    rows = np.arange(len(position))
    for tap in range(-radius, radius + 1):
        pixel = np.floor(position).astype(np.int64) + tap
        weight = _weight((pixel - position) * compression, cubic=is_cubic, a=coefficient)
        if exclude_outside:
            weight = np.where((pixel >= 0) & (pixel < before), weight, 0.0)
        np.add.at(matrix, (rows, np.clip(pixel, 0, before - 1)), weight)
    normalized: Doubles = matrix / matrix.sum(axis=1, keepdims=True)
    return normalized


def _values_outside(call: Call, matrices: dict[int, Doubles]) -> dict[int, Doubles]:
    """Return the addend of each row or column of the result, by axis: the extrapolation value outside the map."""
    value = float(call.attribute("extrapolation_value", 0.0))
    return {axis: np.where(matrix.any(axis=1), 0.0, value) for axis, matrix in matrices.items()}


def _weight(x: Doubles, *, cubic: bool, a: float) -> Doubles:
    """Return the weights of pixels at distances ``x``: a triangle, or the cubic kernel of Keys (1981) with ``a``."""
    distance: Doubles = np.abs(x)
    if not cubic:
        return np.maximum(1.0 - distance, 0.0)
    inner = (a + 2) * distance**3 - (a + 3) * distance**2 + 1
    outer = a * distance**3 - 5 * a * distance**2 + 8 * a * distance - 4 * a
    return np.where(distance <= 1, inner, np.where(distance < 2, outer, 0.0))


def _is_identity(matrix: Doubles) -> bool:
    return matrix.shape[0] == matrix.shape[1] and bool(np.abs(matrix - np.eye(len(matrix))).max() < _TOLERANCE)


def _resized_map(
    call: Call,
    view: View,
    matrices: dict[int, Doubles],
    outside: dict[int, Doubles],
    axes: tuple[int, int, int],
) -> View:
    """Return a map resized by matrices for its rows and columns, with the values outside the map added."""
    node, dims = relayout.as_map(call.nodes, view, axes)
    rows, columns = (matrices.get(axis, np.eye(size)) for axis, size in zip(axes, dims[:2]))
    for op, attrs in _candidates(rows.shape, columns.shape):
        if _has_effect(op, attrs, rows, 0) and _has_effect(op, attrs, columns, 1):
            resized_node = call.nodes.emit(op, node, part="resized", **attrs)
            return of_map(resized_node, call.nodes.shape(resized_node), axes)
    sums = [
        weighted_sums(matrix, outside.get(axis, np.zeros(len(matrix))), axes.index(axis))
        for axis, matrix in matrices.items()
    ]
    if None not in sums:
        for attrs, weights in filter(None, sums):
            node = call.nodes.emit("resample", node, part="resized", weights=weights, **attrs)
        return of_map(node, call.nodes.shape(node), axes)
    if any(values.any() for values in outside.values()):
        raise call.refused("a region beyond the map with a value there", "give a region within the map")
    resized = of_map(node, dims, axes)
    for axis, matrix in matrices.items():
        resized = _times(call, resized, axis, matrix)
    return resized


def _candidates(rows: Sequence[int], columns: Sequence[int]) -> list[tuple[str, dict[str, Any]]]:
    """Return the resize operators with shaders for these sizes (after, before), the cheapest first."""
    candidates: list[tuple[str, dict[str, Any]]] = []
    if not rows[0] % rows[1] and not columns[0] % columns[1]:
        factors = (rows[0] // rows[1], columns[0] // columns[1])
        candidates += [(f"upsample_{method}", {"size": factors}) for method in METHODS]
    size = (rows[0], columns[0])
    candidates += [
        ("resize", {"size": size, "method": method, "convention": convention})
        for method in METHODS
        for convention in CONVENTIONS
    ]
    return candidates


def _has_effect(op: str, attrs: dict[str, Any], matrix: Doubles, axis: int) -> bool:
    """Return whether an operator has the same effect on rows (axis 0) or columns (axis 1) as a matrix.

    Applied to an identity matrix along this axis, the operator returns its own matrix.
    """
    after, before = matrix.shape
    size_along_axis = tuple(size if index == axis else 1 for index, size in enumerate(attrs["size"]))
    identity = np.eye(before).reshape((before, 1, before) if axis == 0 else (1, before, before))
    operator = ops.get(op)
    node = Node("probe", op, ("x",), {**operator.attrs, **attrs, "size": size_along_axis})
    result = np.asarray(operator.reference(node, [identity])).reshape(after, before)
    return bool(np.abs(result - matrix).max() < _TOLERANCE)


def _times(call: Call, view: View, axis: int, matrix: Doubles) -> View:
    """Return a tensor with one axis multiplied by a matrix (after, before), on the CPU."""
    others = [other for other in range(len(view.axes)) if other != axis]
    stored_order = [other for other in (view.order() or others) if other != axis]
    not_stored = [other for other in others if other not in stored_order]
    with_axis_last = relayout.ordered(call.nodes, view, [*stored_order, *not_stored, axis])
    node = call.nodes.shaped(with_axis_last.node, (view.size // view.shape[axis], view.shape[axis]))
    product = call.nodes.emit("linear", node, part="product", weights={"kernel": matrix.T})
    shape = tuple(len(matrix) if index == axis else size for index, size in enumerate(view.shape))
    return fresh(product, shape, [*stored_order, axis])


def _grid_sample(call: Call) -> list[View]:
    """Convert a GridSample, on the CPU."""
    source, (_, _, channels) = call.map()
    mode = {"linear": "bilinear"}.get(str(call.attribute("mode", "linear")), str(call.attribute("mode", "linear")))
    attrs = {
        "mode": mode,
        "padding": str(call.attribute("padding_mode", "zeros")),
        "align_corners": bool(call.attribute("align_corners", 0)),
    }
    grid = call.operands[1] if len(call.operands) > 1 else None
    if grid is None or len(grid.shape) != 4 or grid.shape[0] != 1 or mode not in ("bilinear", "nearest"):
        raise call.refused(f"mode '{mode}'", "give a map and a grid (1, rows, columns, 2), bilinear or nearest")
    sources, weights = as_in_file(call, [grid], ("grid",))
    sources = [call.nodes.shaped(node, tuple(grid.shape[1:])) for node in sources]
    weights = {name: array[0] for name, array in weights.items()}
    node = call.nodes.emit("grid_sample", source, *sources, part="sampled", weights=weights, **attrs)
    return [fresh(node, (1, channels, *grid.shape[1:3]), (2, 3, 1))]


def _affine_grid(call: Call) -> list[View]:
    """Convert an AffineGrid of pictures: the products of a matrix and the positions of all pixels, from -1 to 1."""
    view, size, corners = call.view(), call.integers(1, "its size") or [], call.attribute("align_corners", 0)
    if view.shape != (1, 2, 3) or len(size) != 4 or size[0] != 1 or min(size) < 1:
        raise call.refused(f"a matrix of {view.shape} for {size}", "give the matrix (1, 2, 3) of one image")
    rows, columns = (
        np.linspace(-1.0, 1.0, length) if corners and length > 1 else (2.0 * np.arange(length) + 1.0) / length - 1.0
        for length in size[2:]
    )
    x, y = (coordinates.reshape(-1) for coordinates in np.meshgrid(columns, rows))
    points = by_matrix(call, view, np.stack([x, y, np.ones_like(x)]), np.zeros(x.size))
    return [call.reshaped(points.transposed((0, 2, 1)), (1, *size[2:], 2))]


CONVERTERS: dict[str, Converter] = {
    "AffineGrid": _affine_grid,
    "GridSample": _grid_sample,
    "Resize": resize,
    "Upsample": resize,
}
