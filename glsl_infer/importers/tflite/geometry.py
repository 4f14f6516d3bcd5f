"""Converters of operators that move or pad pixels and channels, or change a shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glsl_infer.graph import Node
from glsl_infer.importers.core import emit, moves
from glsl_infer.importers.core.moves import MOST_JOINED, concatenated
from glsl_infer.importers.tflite.call import MOST_NUMBERS, Call, Converter
from glsl_infer.importers.tflite.choices import cast, gathered
from glsl_infer.importers.tflite.evaluate import slices_of
from glsl_infer.program.layout import MAX_TEXTURE_SIZE

_MODES = ("reflect", "symmetric")

MOST_CHANNELS = 2**16
"""Largest number of channels that a gather repeats."""

_MOST_PARTS = 64
"""Largest number of copies of a tensor along an axis that are concatenated."""


def identity(call: Call) -> list[Node]:
    """Convert an operator without an effect."""
    return [call.node("identity")]


def pad(call: Call) -> list[Node]:
    """Convert a PAD, PADV2 or MIRROR_PAD, which keeps the batch."""
    shape, file_widths = call.shapes[0], call.constant(1, "its widths").astype(np.int64).reshape(-1, 2)
    outer, inner = np.split(file_widths, [max(len(file_widths) - len(shape), 0)])
    widths = [(0, 0)] * (len(shape) - len(inner)) + [(int(before), int(after)) for before, after in inner]
    if outer.any() or (file_widths < 0).any():
        raise call.refused(f"by {file_widths.tolist()}", "rows, columns and channels can be padded, not the batch")
    if math.prod(size + sum(pair) for size, pair in zip(shape, widths)) > MOST_NUMBERS:
        raise call.refused(f"by {file_widths.tolist()}", f"make at most {MOST_NUMBERS} numbers")
    mode = _MODES[int(call.option("Mode"))] if call.kind == "MIRROR_PAD" else "constant"
    value = float(call.constant(2, "a value").reshape(-1)[0]) if len(call.constants) > 2 else 0.0
    if not np.isfinite(value):
        raise call.refused(f"with {value}", "give a finite number")
    return emit.padded(call.name, call.inputs[0], shape, widths, mode, value)


def reshape(call: Call) -> list[Node]:
    """Convert an operator that only changes the shape."""
    target = call.shape
    if math.prod(target) != math.prod(call.shapes[0]):
        raise call.refused(f"from {call.shapes[0]} to {target}", "the file is damaged; convert the model anew")
    return [Node(call.name, "reshape", call.inputs[:1], {"shape": target})]


def transpose(call: Call) -> list[Node]:
    """Convert a TRANSPOSE that keeps the batch first."""
    file_shape, order = call.file_shape, call.integers(1, "an order of axes")
    rank = len(call.shapes[0])
    removed_axes = len(file_shape) - rank
    if sorted(axis % len(file_shape) for axis in order) != list(range(len(file_shape))) or (
        removed_axes > 0 and order[0] % len(file_shape)
    ):
        raise call.refused(f"axes in the order {tuple(order)} of {file_shape}", "the batch stays as it is")
    axes = [axis % len(file_shape) - removed_axes for axis in order[max(removed_axes, 0) :]]
    first = range(rank - len(axes))
    return emit.transposed(call.name, call.inputs[0], call.shapes[0], [*first, *(axis % rank for axis in axes)])


def gather(call: Call) -> list[Node]:
    """Convert a GATHER, of constant indices or of those that the network computes."""
    if len(call.constants) > 1 and call.constants[1] is None:
        return gathered(call)
    axis, shape, indices = call.axis(call.option("Axis", 0)), call.shapes[0], call.integers(1, "its indices")
    size = shape[axis]
    if not indices or not all(-size <= index < size for index in indices) or len(call.shapes) != 1:
        raise call.refused(f"{indices[:8]} of {shape}", "give indices that there are")
    return emit.taken(call.name, call.inputs[0], shape, [index % size for index in indices], axis)


def reversed_(call: Call) -> list[Node]:
    """Convert a REVERSE_V2."""
    axes = {call.axis(axis) for axis in call.integers(1, "axes")}
    parts = [range(size)[:: -1 if axis in axes else 1] for axis, size in enumerate(call.shapes[0])]
    return emit.sliced(call.name, call.inputs[0], call.shapes[0], parts)


def repeated(call: Call) -> list[Node]:
    """Convert a BROADCAST_TO or TILE: by shaders from one pixel, row or column to a map, else by concatenations."""
    shape, target = call.shapes[0], call.shape
    shape = (1,) * (len(target) - len(shape)) + shape
    if len(shape) != len(target) or any(size % own for own, size in zip(shape, target)):
        raise call.refused(f"from {call.shapes[0]} to {target}", "make each length a multiple")
    longer = [axis for axis, (own, size) in enumerate(zip(shape, target)) if own != size]
    chain = emit.Chain(call.name, call.inputs[0], call.shapes[0])
    of_maps = len(call.shapes[0]) == 3 == len(target) and target[2] <= MOST_CHANNELS
    if of_maps and all(shape[axis] == 1 for axis in longer):
        if 2 in longer:
            chain.add("channel_gather", part="channels", channels=(0,) * target[2])
        chain.add("upsample_nearest", part="pixels", size=(target[0] // shape[0], target[1] // shape[1]))
        return chain.nodes
    if any(target[axis] // shape[axis] > _MOST_PARTS for axis in longer):
        raise call.refused(f"from {shape} to {target}", f"repeat at most {_MOST_PARTS} times along an axis")
    chain.add("tensor_reshape", part="shape", shape=shape)
    for axis in longer:
        chain.emit("tensor_concat", *[chain.last] * (target[axis] // shape[axis]), part=str(axis), axis=axis)
    return chain.nodes


def resize(call: Call) -> list[Node]:
    """Convert a resize to a fixed size."""
    source, size = call.feature_map(), call.integers(1, "its size")
    method = "bilinear" if call.kind == "RESIZE_BILINEAR" else "nearest"
    corners, centers = call.option("AlignCorners", False), call.option("HalfPixelCenters", False)
    if len(size) != 2 or min(size) < 1 or (corners and centers):
        raise call.refused(f"to {size} with align_corners={corners}, half_pixel_centers={centers}", "give one of both")
    factors = (size[0] // source[0], size[1] // source[1])
    is_integer = (factors[0] * source[0], factors[1] * source[1]) == (size[0], size[1])
    if is_integer and not corners and (centers or method == "nearest"):
        return [Node(call.name, f"upsample_{method}", call.inputs[:1], {"size": factors})]
    convention = "align_corners" if corners else "half_pixel" if centers else "asymmetric"
    attrs = {"size": (size[0], size[1]), "method": method, "convention": convention}
    return [Node(call.name, "resize", call.inputs[:1], attrs)]


def depth_to_space(call: Call) -> list[Node]:
    """Convert a DEPTH_TO_SPACE."""
    call.feature_map()
    return [call.node("depth_to_space", {"block": call.option("BlockSize")})]


def space_to_depth(call: Call) -> list[Node]:
    """Convert a SPACE_TO_DEPTH."""
    shape, block = call.feature_map(), call.option("BlockSize")
    if not 1 <= block <= 64 or shape[0] % block or shape[1] % block:
        raise call.refused(f"blocks of {block}x{block} in {shape[0]}x{shape[1]} pixels", "make both a multiple of it")
    return moves.space_to_depth(call.name, call.inputs[0], shape, (block, block))


def concatenate(call: Call) -> list[Node]:
    """Convert a CONCATENATION of channels, or of a few maps along rows or columns."""
    rank = len(call.tensor.shape)
    if len(call.inputs) != len(call.constants):
        raise call.refused("with a constant", "join tensors that the network computes")
    if call.option("Axis") not in (-1, rank - 1):
        along = call.option("Axis") % rank
        small = len(call.inputs) <= MOST_JOINED and call.tensor.shape[along] <= MAX_TEXTURE_SIZE
        if rank != 4 or along == 0 or not small or min(map(len, call.shapes)) < 3:
            raise call.refused(f"along axis {call.option('Axis')} of {call.tensor.shape}", "channels can be joined")
        return call.activated(concatenated(call.name, call.inputs, call.shapes, along - 1))
    return call.activated([call.node("concat")])


def sliced(call: Call) -> list[Node]:
    """Convert a SLICE, in which a size of -1 extends to the end, or a STRIDED_SLICE."""
    file_shape = call.file_shape
    if call.kind == "SLICE":
        slices = zip(file_shape, call.integers(1, "where it begins"), call.integers(2, "its size"))
        parts = [range(length)[begin : None if size == -1 else begin + size] for length, begin, size in slices]
    else:
        operands = [call.constant(index, "its ends") for index in (1, 2, 3)]
        try:
            parts, _ = slices_of(file_shape, operands, call.operator.options)
        except (ValueError, KeyError) as error:
            raise call.refused(str(error), "give a slice without an ellipsis and new axes") from None
    return _part(call, parts)


def split(call: Call) -> list[Node]:
    """Convert one output of a SPLIT, a SPLIT_V or an UNPACK."""
    if call.kind == "UNPACK":
        axis = call.axis(call.option("Axis", 0))
        sizes = [1] * call.shapes[0][axis]
    elif call.kind == "SPLIT":
        axis, count = call.axis(call.integers(0, "an axis")[0], 1), call.option("NumSplits")
        sizes = [call.shapes[0][axis] // count] * count if 0 < count <= call.shapes[0][axis] else []
    else:
        axis, sizes = call.axis(call.integers(2, "an axis")[0]), call.integers(1, "its sizes")
        sizes = [call.shapes[0][axis] - sum(sizes) - 1 if size == -1 else size for size in sizes]
    if call.output >= len(sizes) or sum(sizes) != call.shapes[0][axis] or min(sizes) < 1:
        raise call.refused(f"{call.shapes[0]} into {sizes[:8]}", "give sizes that fit, of one number at least")
    parts = [range(length) for length in call.shapes[0]]
    parts[axis] = range(sum(sizes[: call.output]), sum(sizes[: call.output + 1]))
    return _part(call, parts)


def _part(call: Call, parts: Sequence[range]) -> list[Node]:
    """Return the nodes of a slice of the file's axes, or of the node's: the last axes of both are the same."""
    shape = call.shapes[0]
    own = [range(1)] * max(len(shape) - len(parts), 0) + list(parts[max(len(parts) - len(shape), 0) :])
    whole = [part for part in parts[: max(len(parts) - len(shape), 0)] if part != range(1)]
    if whole or any(len(part) < 1 for part in own):
        raise call.refused(f"{parts} of {call.file_shape}", "take one number at least, and keep the batch")
    return emit.sliced(call.name, call.inputs[0], shape, own, call.shape)


CONVERTERS: dict[str, Converter] = {
    "BROADCAST_TO": repeated,
    "CAST": cast,
    "CONCATENATION": concatenate,
    "DEPTH_TO_SPACE": depth_to_space,
    "DEQUANTIZE": identity,
    "EXPAND_DIMS": reshape,
    "GATHER": gather,
    **dict.fromkeys(("MIRROR_PAD", "PAD", "PADV2"), pad),
    "QUANTIZE": identity,
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize,
    "RESIZE_NEAREST_NEIGHBOR": resize,
    "REVERSE_V2": reversed_,
    "SLICE": sliced,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split,
    "SQUEEZE": reshape,
    "STRIDED_SLICE": sliced,
    "TILE": repeated,
    "TRANSPOSE": transpose,
}
