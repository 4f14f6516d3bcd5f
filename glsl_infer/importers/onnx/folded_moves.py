"""Constant folding in NumPy of operators that move or create values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glsl_infer.importers.onnx.model import Operator

if TYPE_CHECKING:
    from glsl_infer.importers.onnx.folding import Folded

Given = Sequence[Any]


def room(shape: Sequence[int], itemsize: int, most: int) -> tuple[int, ...]:
    """Return a shape after a check of its size.

    Raises:
        ValueError: the shape takes more than ``most`` bytes.
    """
    sizes = tuple(int(size) for size in shape)
    if any(size < 0 for size in sizes) or math.prod(sizes) * itemsize > most or len(sizes) > 32:
        raise ValueError(f"a shape of {sizes[:16]}, which is too large")
    return sizes


def numbers_at(given: Given, place: int, operator: Operator, attribute: str) -> list[int] | None:
    """Return integers from an attribute, as in old files, or from an input."""
    if attribute in operator.attributes:
        value = operator.attributes[attribute]
        return [int(number) for number in (value if isinstance(value, tuple) else (value,))]
    if place < len(given) and given[place] is not None:
        return [int(number) for number in np.asarray(given[place]).reshape(-1)]
    return None


def target_shape(shape: Sequence[int], wanted: Sequence[int], *, zero_is_zero: bool = False) -> tuple[int, ...]:
    """Return the shape of a Reshape's result: 0 keeps a size, -1 is computed from the others.

    Raises:
        ValueError: the number of elements differs.
    """
    sizes = [shape[axis] if size == 0 and not zero_is_zero else int(size) for axis, size in enumerate(wanted)]
    if sizes.count(-1) == 1:
        rest = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = math.prod(shape) // rest if rest else 0
    if math.prod(sizes) != math.prod(shape) or any(size < 0 for size in sizes):
        raise ValueError(f"a shape of {tuple(wanted)} for {tuple(shape)}")
    return tuple(sizes)


def slices(shape: Sequence[int], given: Given, operator: Operator) -> list[slice]:
    """Return the slice of each axis for a Slice.

    Raises:
        ValueError: the inputs do not match.
    """
    starts, ends = (numbers_at(given, place, operator, name) for place, name in ((1, "starts"), (2, "ends")))
    axes, steps = (numbers_at(given, place, operator, name) for place, name in ((3, "axes"), (4, "steps")))
    if starts is None or ends is None:
        raise ValueError("no starts or no ends")
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise ValueError("starts, ends, axes and steps of different lengths, or a step of 0")
    taken = [slice(None)] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        size = shape[axis]
        first = start + size if start < 0 else start
        last = end + size if end < 0 else end
        if step > 0:
            taken[axis] = slice(min(max(first, 0), size), min(max(last, 0), size), step)
        else:
            last = min(max(last, -1), size - 1)
            taken[axis] = slice(min(max(first, 0), size - 1), None if last < 0 else last, step)
    return taken


def split_sizes(size: int, given: Given, operator: Operator) -> list[int]:
    """Return the lengths of the outputs of a Split."""
    sizes = numbers_at(given, 1, operator, "split")
    if sizes is None:
        count = operator.attributes.get("num_outputs", len(operator.outputs))
        each = -(-size // count)
        sizes = [each] * (count - 1) + [size - each * (count - 1)]
    if sum(sizes) != size or min(sizes) < 0:
        raise ValueError(f"{size} into {sizes}")
    return sizes


def squeezed(shape: Sequence[int], axes: list[int] | None) -> tuple[int, ...]:
    """Return a shape without the given axes of length 1; without all of them if ``axes`` is None."""
    gone = [axis for axis, size in enumerate(shape) if size == 1] if axes is None else [a % len(shape) for a in axes]
    if any(shape[axis] != 1 for axis in gone):
        raise ValueError(f"axes {axes} of {tuple(shape)} are longer than 1")
    return tuple(size for axis, size in enumerate(shape) if axis not in gone)


def unsqueezed(shape: Sequence[int], axes: list[int]) -> tuple[int, ...]:
    """Return a shape with more axes of length 1."""
    rank = len(shape) + len(axes)
    new = [axis + rank if axis < 0 else axis for axis in axes]
    if len(set(new)) != len(new) or any(not 0 <= axis < rank for axis in new):
        raise ValueError(f"axes {axes} beside {tuple(shape)}")
    sizes = iter(shape)
    return tuple(1 if axis in new else next(sizes) for axis in range(rank))


def flattened(shape: Sequence[int], axis: int) -> tuple[int, int]:
    """Return the two sizes of a Flatten's result."""
    axis = axis + len(shape) if axis < 0 else axis
    return math.prod(shape[:axis]), math.prod(shape[axis:])


def _constant(given: Given, operator: Operator, most: int) -> Any:
    for name, value in operator.attributes.items():
        if name in ("value", "sparse_value"):
            return np.asarray(value())
        if name in ("value_float", "value_floats"):
            return np.asarray(value, np.float32)
        if name in ("value_int", "value_ints"):
            return np.asarray(value, np.int64)
    raise ValueError("a constant without numbers")


def _filled(given: Given, operator: Operator, most: int) -> Any:
    value = (
        operator.attributes["value"]().reshape(-1)[:1] if "value" in operator.attributes else np.zeros(1, np.float32)
    )
    return np.full(room(given[0].reshape(-1).tolist(), value.itemsize, most), value[0], value.dtype)


def _range(given: Given, operator: Operator, most: int) -> Any:
    start, limit, delta = (each.reshape(-1)[0] for each in given)
    count = max(math.ceil((float(limit) - float(start)) / float(delta)), 0)
    room([count], given[0].itemsize, most)
    return (start + np.arange(count) * delta).astype(given[0].dtype)


def _reshape(given: Given, operator: Operator, most: int) -> Any:
    wanted = numbers_at(given, 1, operator, "shape") or []
    zeros = bool(operator.attributes.get("allowzero", 0))
    return given[0].reshape(target_shape(given[0].shape, wanted, zero_is_zero=zeros))


def _expand(given: Given, operator: Operator, most: int) -> Any:
    shape = np.broadcast_shapes(given[0].shape, tuple(given[1].reshape(-1).tolist()))
    return np.broadcast_to(given[0], room(shape, given[0].itemsize, most))


def _tile(given: Given, operator: Operator, most: int) -> Any:
    counts = given[1].reshape(-1).tolist()
    room([size * count for size, count in zip(given[0].shape, counts)], given[0].itemsize, most)
    return np.tile(given[0], counts)


def _gather(given: Given, operator: Operator, most: int) -> Any:
    axis = operator.attributes.get("axis", 0)
    room([given[0].size // max(given[0].shape[axis], 1), given[1].size], given[0].itemsize, most)
    return np.take(given[0], given[1].astype(np.int64), axis=axis)


def _gather_elements(given: Given, operator: Operator, most: int) -> Any:
    return np.take_along_axis(given[0], given[1].astype(np.int64), axis=operator.attributes.get("axis", 0))


def _gather_nd(given: Given, operator: Operator, most: int) -> Any:
    if operator.attributes.get("batch_dims", 0):
        raise ValueError("batch_dims")
    return given[0][tuple(np.moveaxis(given[1].astype(np.int64), -1, 0))]


def _scatter_nd(given: Given, operator: Operator, most: int) -> Any:
    result = given[0].copy()
    result[tuple(np.moveaxis(given[1].astype(np.int64), -1, 0))] = given[2]
    return result


def _concat(given: Given, operator: Operator, most: int) -> Any:
    room([sum(each.size for each in given)], given[0].itemsize, most)
    return np.concatenate(given, axis=operator.attributes.get("axis", 1))


def _split(given: Given, operator: Operator, most: int) -> Any:
    axis = operator.attributes.get("axis", 0)
    ends = np.cumsum(split_sizes(given[0].shape[axis], given, operator))[:-1]
    return list(np.split(given[0], ends, axis=axis))


def _pad(given: Given, operator: Operator, most: int) -> Any:
    rank = given[0].ndim
    pads = numbers_at(given, 1, operator, "pads") or []
    axes = numbers_at(given, 3, operator, "axes") or range(rank)
    around = [(0, 0)] * rank
    for place, axis in enumerate(axes):
        around[axis] = (pads[place], pads[place + len(pads) // 2])
    shape = room([size + sum(pair) for size, pair in zip(given[0].shape, around)], given[0].itemsize, most)
    if operator.attributes.get("mode", "constant") != "constant" or min(min(pair) for pair in around) < 0:
        raise ValueError(f"padding by {around}")
    value = given[2].reshape(-1)[0] if len(given) > 2 and given[2] is not None else operator.attributes.get("value", 0)
    padded = np.full(shape, value, given[0].dtype)
    padded[tuple(slice(before, before + size) for size, (before, _) in zip(given[0].shape, around))] = given[0]
    return padded


def _transpose(given: Given, operator: Operator, most: int) -> Any:
    return given[0].transpose(operator.attributes.get("perm"))


def _squeeze(given: Given, operator: Operator, most: int) -> Any:
    return given[0].reshape(squeezed(given[0].shape, numbers_at(given, 1, operator, "axes")))


def _unsqueeze(given: Given, operator: Operator, most: int) -> Any:
    return given[0].reshape(unsqueezed(given[0].shape, numbers_at(given, 1, operator, "axes") or []))


def _nonzero(given: Given, operator: Operator, most: int) -> Any:
    room([given[0].ndim, given[0].size], 8, most)
    return np.asarray(np.nonzero(given[0]), np.int64)


def _one_hot(given: Given, operator: Operator, most: int) -> Any:
    indices, depth, values = given[0].astype(np.int64), int(given[1].reshape(-1)[0]), given[2]
    room([*indices.shape, depth], values.itemsize, most)
    axis = operator.attributes.get("axis", -1)
    hot = np.expand_dims(indices % depth, axis) == np.arange(depth).reshape(
        [-1 if place == axis % (indices.ndim + 1) else 1 for place in range(indices.ndim + 1)]
    )
    return np.where(hot, values[1], values[0])


def _eye(given: Given, operator: Operator, most: int) -> Any:
    rows, columns = room(given[0].shape, 4, most)
    return np.eye(rows, columns, operator.attributes.get("k", 0), np.float32)


def _triangle(given: Given, operator: Operator, most: int) -> Any:
    offset = int(given[1].reshape(-1)[0]) if len(given) > 1 and given[1] is not None else 0
    return (np.triu if operator.attributes.get("upper", 1) else np.tril)(given[0], offset)


MOVES: Mapping[str, Folded] = {
    "Concat": _concat,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "EyeLike": _eye,
    "Flatten": lambda given, operator, most: given[0].reshape(
        flattened(given[0].shape, operator.attributes.get("axis", 1))
    ),
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "NonZero": _nonzero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "ScatterND": _scatter_nd,
    "Slice": lambda given, operator, most: given[0][tuple(slices(given[0].shape, given, operator))],
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
}
"""Folding functions by the operator's type."""
