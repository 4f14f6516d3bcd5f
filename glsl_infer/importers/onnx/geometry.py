"""Converters of operators on shapes and the order of axes or pixels: to views, and nodes if a view is not enough."""

from __future__ import annotations

import math

import numpy as np

from glsl_infer.graph import Shape
from glsl_infer.importers.core import folding, moves
from glsl_infer.importers.onnx import relayout, types
from glsl_infer.importers.onnx.arithmetic import cast
from glsl_infer.importers.onnx.call import Call, Converter
from glsl_infer.importers.onnx.file import schema
from glsl_infer.importers.onnx.folding import flattened
from glsl_infer.importers.onnx.slice_concat_pad import concatenated, for_each_map
from glsl_infer.importers.onnx.view import View, fresh


def reshape(call: Call) -> list[View]:
    """Convert a Reshape."""
    view = call.view()
    sizes = call.integers(1, "its shape", "shape")
    if sizes is None:
        raise call.refused("without a shape", "the file is damaged")
    if sizes and sizes[0] > 1 and -1 not in sizes and math.prod(sizes) == view.size * sizes[0] // max(view.shape[0], 1):
        sizes[0] = view.shape[0]  # instead of the batch size at export
    zeros = bool(call.attribute("allowzero", 0))
    return [call.reshaped(view, folding.reshaped(view.shape, sizes, zero_keeps=not zeros))]


def _flatten(call: Call) -> list[View]:
    view = call.view()
    return [call.reshaped(view, flattened(view.shape, int(call.attribute("axis", 1))))]


def _squeeze(call: Call) -> list[View]:
    view = call.view()
    return [call.reshaped(view, folding.squeezed(view.shape, call.integers(1, "axes", "axes")))]


def _unsqueeze(call: Call) -> list[View]:
    view = call.view()
    return [call.reshaped(view, folding.unsqueezed(view.shape, call.integers(1, "axes", "axes") or []))]


def _transpose(call: Call) -> list[View]:
    view = call.view()
    order = call.attribute("perm", tuple(reversed(range(len(view.axes)))))
    if sorted(order) != list(range(len(view.axes))):
        raise call.refused(f"axes in the order {order} of {view.shape}", "the file is damaged")
    return [view.transposed(order)]


def _same(call: Call) -> list[View]:
    return [call.view()]


def _cast(call: Call) -> list[View]:
    """Convert a Cast. A cast between floats has no effect, and bytes of an image are plain values."""
    return _as_type(call, str(np.dtype(schema().helper.tensor_dtype_to_np_dtype(call.attribute("to")))))


def _as_type(call: Call, kind: str) -> list[View]:
    """Convert a cast to a type with NumPy's name ``kind``."""
    tiny = kind.endswith(("int2", "int4"))  # values out of their range wrap around
    if tiny or not (types.is_whole(kind) or kind.startswith(("float", "bfloat"))) or kind.startswith("float8_e8m0"):
        raise call.refused(f"a cast to {kind} of what the network computes", "cast to a float, or leave it out")
    return cast(call, kind)


def _cast_like(call: Call) -> list[View]:
    """Convert a CastLike, whose second input has the target type."""
    like = call.operands[1] if len(call.operands) > 1 else None
    return _as_type(call, str(like.dtype) if isinstance(like, np.ndarray) else call.type(1))


def _expand(call: Call) -> list[View]:
    view = call.view()
    return [_repeated(call, view, np.broadcast_shapes(view.shape, tuple(call.integers(1, "its shape") or [])))]


def _tile(call: Call) -> list[View]:
    view, counts = call.view(), call.integers(1, "how often") or []
    repeats_values = any(count != 1 and size != 1 for size, count in zip(view.shape, counts))
    if repeats_values or len(counts) != len(view.axes):
        return [_tiled(call, view, counts)]
    return [_repeated(call, view, tuple(size * count for size, count in zip(view.shape, counts)))]


def _tiled(call: Call, view: View, counts: list[int]) -> View:
    """Return a tensor next to itself, ``counts`` times along each axis."""
    if len(counts) != len(view.axes) or min(counts) < 1 or math.prod(counts) > 4096:
        raise call.refused(f"{counts} times a tensor of {view.shape}", "the file is damaged")
    for axis, count in enumerate(counts):
        if count > 1:
            view = concatenated(call, [view] * count, axis)
    return view


def _repeated(call: Call, view: View, shape: Shape) -> View:
    """Return a tensor with axes of length 1 repeated to the lengths of ``shape``."""
    call.file_shape(shape)
    if math.prod(shape) == view.size:
        return call.reshaped(view, shape)
    rank = len(shape)
    same_rank = call.reshaped(view, (1,) * (rank - len(view.shape)) + view.shape)
    longer = [axis for axis in range(rank) if same_rank.shape[axis] != shape[axis]]
    if rank == 4 and shape[0] == 1 and set(longer) <= {2, 3}:
        node, (height, width, _) = relayout.as_map(call.nodes, same_rank)
        size = (shape[2] // height, shape[3] // width)
        return call.mapped(call.nodes.emit("upsample_nearest", node, part="repeated", size=size))
    if rank == 4 and shape[0] == 1 and longer == [1]:
        node, _ = relayout.as_map(call.nodes, same_rank)
        return call.mapped(call.nodes.emit("channel_gather", node, part="repeated", channels=(0,) * shape[1]))
    ones = np.ones(shape, np.float32)
    node = relayout.in_file_order(call.nodes, same_rank, same_rank.shape)
    return fresh(call.nodes.constant("multiply", node, ones), shape)


def _depth_to_space(call: Call) -> list[View]:
    source, _ = call.map()
    order = "column_row_depth" if call.attribute("mode", "DCR") == "CRD" else "depth_column_row"
    node = call.nodes.emit("depth_to_space", source, part="pixels", block=int(call.attribute("blocksize")), order=order)
    return [call.mapped(node)]


def _space_to_depth(call: Call) -> list[View]:
    source, shape = call.map()
    block = int(call.attribute("blocksize"))
    if not 1 <= block <= 64 or shape[0] % block or shape[1] % block:
        raise call.refused(f"blocks of {block}x{block} in {shape[0]}x{shape[1]} pixels", "make both a multiple of it")
    node = call.nodes.add(moves.space_to_depth(call.nodes.new_name("phases"), source, shape, (block, block)))
    if call.attribute("mode", "DCR") == "CRD":
        count = block * block
        order = tuple(index * shape[2] + channel for channel in range(shape[2]) for index in range(count))
        node = call.nodes.emit("channel_gather", node, part="order", channels=order)
    return [call.mapped(node)]


CONVERTERS: dict[str, Converter] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "DepthToSpace": for_each_map(_depth_to_space),
    "Dropout": _same,
    "Expand": _expand,
    "Flatten": _flatten,
    "Identity": _same,
    "Reshape": reshape,
    "SpaceToDepth": for_each_map(_space_to_depth),
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
