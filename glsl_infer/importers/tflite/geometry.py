"""Operators that move pixels and channels, or change a shape -> nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.shared import pixels
from glsl_infer.importers.shared.arranged import Arrangement
from glsl_infer.importers.shared.places import MOST_JOINED, joined
from glsl_infer.importers.tflite.call import Call, Converter, mapped
from glsl_infer.importers.tflite.chains import UPSAMPLE
from glsl_infer.importers.tflite.choices import cast
from glsl_infer.importers.tflite.evaluate import slices_of
from glsl_infer.importers.tflite.padding import MOST_CHANNELS, identity, mirror_pad, pad
from glsl_infer.importers.tflite.written import ARRANGEMENT
from glsl_infer.program.layout import MAX_TEXTURE_SIZE


def reshape(call: Call) -> list[Node]:
    """Convert an operator that only changes the shape."""
    target = mapped(_target(call))
    if math.prod(target) != math.prod(call.shapes[0]):
        raise call.refused(f"from {call.shapes[0]} to {target}", "the file is damaged; convert the model anew")
    return [Node(call.name, "reshape", call.inputs[:1], {"shape": target})]


def _target(call: Call) -> tuple[int, ...]:
    """Return the output shape, with the batch. If the file leaves it open, it is computed from the operands."""
    if not call.tensor.free:
        return call.tensor.shape
    given = call.given
    if call.kind == "SQUEEZE":
        gone = {axis % len(given) for axis in call.option("SqueezeDimsAsNumpy", ())}
        return tuple(size for axis, size in enumerate(given) if size != 1 or (gone and axis not in gone))
    if call.kind == "EXPAND_DIMS":
        (axis,) = call.integers(1, "an axis")
        return tuple(np.expand_dims(np.empty(given, np.bool_), axis).shape)
    wanted = call.integers(1, "its shape")
    rest = math.prod(size for size in wanted if size != -1)
    return tuple(math.prod(given) // max(rest, 1) if size == -1 else size for size in wanted)


def transpose(call: Call) -> list[Node]:
    """Convert a TRANSPOSE of rows and columns, or of axes of which only one is longer than 1."""
    shape, axes = (1, *call.feature_map()), call.integers(1, "an order of axes")
    order = [axis % 4 for axis in axes]
    if len(axes) != 4 or sorted(order) != [0, 1, 2, 3]:
        raise call.refused(f"axes in the order {axes} of {shape}", "the tensor must have 4 axes")
    long = [axis for axis in order if shape[axis] > 1]
    if long == sorted(long):
        return [Node(call.name, "reshape", call.inputs[:1], {"shape": tuple(shape[axis] for axis in order[1:])})]
    if order == [0, 2, 1, 3]:
        return [call.node("transpose")]
    raise call.refused(
        f"axes in the order {tuple(axes)}", "rows and columns can be exchanged, channels stay the last axis"
    )


def arranged(call: Call) -> list[Node]:
    """Convert a fused move of values (``written``)."""
    moved: Arrangement = call.option("Arrangement")
    return moved.nodes(call.name, call.inputs[0], call.feature_map())


def gathered(call: Call) -> list[Node]:
    """Convert a GATHER of constant rows, columns or channels, or of elements of a vector."""
    indices, rank = call.integers(1, "its indices"), len(call.given)
    axis = call.option("Axis", 0) % rank - rank
    shape = call.shapes[0]
    if not indices or not all(0 <= index < shape[axis] for index in indices) or len(call.shapes) != 1:
        raise call.refused(f"{indices[:8]} of {shape}", "give indices that there are")
    if axis == -1:
        op = "vector_gather" if len(shape) == 1 else "channel_gather"
        return [Node(call.name, op, call.inputs, {"channels": tuple(indices)})]
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    line = range(indices[0], indices[0] + step * len(indices), step or 1)
    call.feature_map()
    if axis < -3 or list(line) != indices:
        raise call.refused(f"{indices[:8]} of {shape}", "rows and columns can be taken at equal steps")
    taken = [range(length) for length in shape]
    taken[axis] = line
    return pixels.part_of(call.name, call.inputs[0], shape, (taken[0], taken[1], taken[2]))


def reversed_(call: Call) -> list[Node]:
    """Convert a REVERSE_V2 of rows, columns or channels."""
    shape, rank = call.feature_map(), len(call.given)
    axes = {axis % rank - rank for axis in call.integers(1, "axes")}
    if min(axes) < -3:
        raise call.refused("of the batch", "rows, columns and channels can be mirrored")
    rows, columns, channels = (range(n)[::-1] if axis in axes else range(n) for axis, n in zip((-3, -2, -1), shape))
    return pixels.part_of(call.name, call.inputs[0], shape, (rows, columns, channels))


def repeated(call: Call) -> list[Node]:
    """Convert a BROADCAST_TO or TILE from one pixel, row or column to a larger map."""
    height, width, channels = call.feature_map()
    made = call.shape
    if len(made) != 3 or (made[2] != channels and channels != 1) or (height > 1 and made[0] != height):
        raise call.refused(f"from {(height, width, channels)} to {made}", "one pixel, row or column can be repeated")
    if (width > 1 and made[1] != width) or made[2] > MOST_CHANNELS:
        raise call.refused(f"from {(height, width, channels)} to {made}", "one pixel, row or column can be repeated")
    nodes: list[Node] = []
    if made[2] != channels:
        nodes = [Node(call.name, "channel_gather", call.inputs[:1], {"channels": (0,) * made[2]})]
    size = (made[0] // height, made[1] // width)
    name, source = (f"{call.name}-pixels", call.name) if nodes else (call.name, call.inputs[0])
    return [*nodes, Node(name, "upsample_nearest", (source,), {"size": size})]


def resize(call: Call) -> list[Node]:
    """Convert a resize to a fixed size."""
    given, size = call.feature_map(), call.integers(1, "its size")
    method = "bilinear" if call.kind == "RESIZE_BILINEAR" else "nearest"
    corners, centers = call.option("AlignCorners", False), call.option("HalfPixelCenters", False)
    if len(size) != 2 or min(size) < 1 or (corners and centers):
        raise call.refused(f"to {size} with align_corners={corners}, half_pixel_centers={centers}", "give one of both")
    factors = (size[0] // given[0], size[1] // given[1])
    whole = (factors[0] * given[0], factors[1] * given[1]) == (size[0], size[1])
    if whole and not corners and (centers or method == "nearest"):
        return [Node(call.name, f"upsample_{method}", call.inputs[:1], {"size": factors})]
    convention = "align_corners" if corners else "half_pixel" if centers else "asymmetric"
    attrs = {"size": (size[0], size[1]), "method": method, "convention": convention}
    return [Node(call.name, "resize", call.inputs[:1], attrs)]


def upsample(call: Call) -> list[Node]:
    """Convert the fused operator of repeated pixels (``chains``)."""
    call.feature_map()
    return [call.node("upsample_nearest", {"size": call.option("Size")})]


def depth_to_space(call: Call) -> list[Node]:
    """Convert a DEPTH_TO_SPACE."""
    call.feature_map()
    return [call.node("depth_to_space", {"block": call.option("BlockSize")})]


def space_to_depth(call: Call) -> list[Node]:
    """Convert a SPACE_TO_DEPTH."""
    shape, block = call.feature_map(), call.option("BlockSize")
    if not 1 <= block <= 64 or shape[0] % block or shape[1] % block:
        raise call.refused(f"blocks of {block}x{block} in {shape[0]}x{shape[1]} pixels", "make both a multiple of it")
    return pixels.space_to_depth(call.name, call.inputs[0], shape, block)


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
        return call.activated(joined(call.name, call.inputs, call.shapes, along - 1))
    return call.activated([call.node("concat")])


def strided_slice(call: Call) -> list[Node]:
    """Convert a STRIDED_SLICE of rows, columns and channels, or of a vector."""
    operands = [call.constant(place, "its ends") for place in (1, 2, 3)]
    try:
        taken, removed = slices_of(call.given, operands, call.operator.options)
    except (ValueError, KeyError) as error:
        raise call.refused(str(error), "give slices of a feature map") from None
    if len(taken) == 3:  # a tensor of three axes is a map of height 1
        taken.insert(1, range(1))
    if len(call.shapes[0]) == 1 and len(taken) == 2 and taken[0] == range(1) and len(taken[1]) and not removed & 2:
        return [Node(call.name, "vector_gather", call.inputs[:1], {"channels": tuple(taken[1])})]
    return _part(call, taken, reshaped=bool(removed))


def slice_(call: Call) -> list[Node]:
    """Convert a SLICE by its begin and its size. A size of -1 extends to the end."""
    shape = (1, *call.feature_map())
    begins, sizes = call.integers(1, "where it begins"), call.integers(2, "its size")
    if not len(begins) == len(sizes) == 4:
        raise call.refused(f"of {len(begins)} axes", "the tensor must have 4")
    taken = [
        range(length)[begin : None if size == -1 else begin + size] for begin, size, length in zip(begins, sizes, shape)
    ]
    return _part(call, taken)


def split(call: Call) -> list[Node]:
    """Convert one output of a SPLIT, SPLIT_V or UNPACK-like cut along one axis."""
    shape = (1, *call.feature_map())
    if call.kind == "SPLIT_V":
        sizes, axis = call.integers(1, "its sizes"), call.integers(2, "an axis")[0]
        if sizes.count(-1) == 1 and len(call.shapes) == 1 and -4 <= axis < 4:
            sizes[sizes.index(-1)] = shape[axis] - sum(sizes) - 1
    else:
        axis, count = call.integers(0, "an axis")[0], call.option("NumSplits")
        sizes = [shape[axis] // count] * count if -4 <= axis < 4 and 0 < count <= shape[axis] else []
    if not -4 <= axis < 4 or axis % 4 == 0 or call.output >= len(sizes) or sum(sizes) != shape[axis] or min(sizes) < 1:
        raise call.refused(f"{shape} into {sizes} along axis {axis}", "rows, columns and channels can be cut")
    taken = [range(length) for length in shape]
    begin = sum(sizes[: call.output])
    taken[axis] = range(begin, begin + sizes[call.output])
    return _part(call, taken)


def _part(call: Call, taken: Sequence[range], *, reshaped: bool = False) -> list[Node]:
    if any(len(part) < 1 for part in taken) or len(taken) != 4 or taken[0] != range(1):
        raise call.refused("that leaves nothing, or cuts the batch", "take a pixel at least")
    shape: Shape = call.feature_map()
    nodes = pixels.part_of(call.name, call.inputs[0], shape, (taken[1], taken[2], taken[3]))
    if reshaped:
        nodes.append(Node(f"{call.name}-shape", "reshape", (nodes[-1].name,), {"shape": call.shape}))
    return nodes


CONVERTERS: dict[str, Converter] = {
    ARRANGEMENT: arranged,
    "BROADCAST_TO": repeated,
    "CAST": cast,
    "CONCATENATION": concatenate,
    "DEPTH_TO_SPACE": depth_to_space,
    "DEQUANTIZE": identity,
    "EXPAND_DIMS": reshape,
    "GATHER": gathered,
    "MIRROR_PAD": mirror_pad,
    "PAD": pad,
    "PADV2": pad,
    "QUANTIZE": identity,
    "RESHAPE": reshape,
    "RESIZE_BILINEAR": resize,
    "RESIZE_NEAREST_NEIGHBOR": resize,
    "REVERSE_V2": reversed_,
    "SLICE": slice_,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split,
    "SQUEEZE": reshape,
    "STRIDED_SLICE": strided_slice,
    "TILE": repeated,
    "TRANSPOSE": transpose,
    UPSAMPLE: upsample,
}
