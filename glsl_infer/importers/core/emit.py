"""Operations on ranked tensors as nodes: an operator with a shader if it takes the shapes, else a kernel of ``cpu``.

Shapes have no batch axis, and axes are counted from 0. The first node of a function has the given name, and its last
node is the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer import ops
from glsl_infer.errors import ModelError
from glsl_infer.graph import Array, Node, Shape
from glsl_infer.graph.activations import activation
from glsl_infer.importers.core import moves
from glsl_infer.importers.core.convolutions import PLAIN
from glsl_infer.ops.channel_gather import ZERO
from glsl_infer.ops.constant_map import constant_map
from glsl_infer.ops.resample import MOST_TAPS, rounded
from glsl_infer.program.layout import MAX_TEXTURE_SIZE, TEXTURE_RANKS

ONCE: Mapping[str, Any] = {"strides": (1, 1), "padding": (0, 0, 0, 0)}
"""A window that is applied once per pixel."""

WITH_SHADER = ("max", "mean", "min", "sum")
"""Reductions of maps with shaders."""


MOST_ZEROS = 2**16
"""Largest number of channels of zeros that shaders add."""


def in_textures(*shapes: Shape) -> bool:
    """Return whether all shapes are those of vectors or maps, which textures can store."""
    return all(len(shape) in TEXTURE_RANKS for shape in shapes)


def takes(op: str, shapes: Sequence[Shape], **attrs: Any) -> bool:
    """Return whether an operator supports inputs of these shapes."""
    operator = ops.get(op)
    try:
        operator.shape(Node("", op, tuple(map(str, range(len(shapes)))), {**operator.attrs, **attrs}), list(shapes))
    except ModelError:
        return False
    return True


class Chain:
    """A chain of nodes, each of which reads the previous one. The first has the given name.

    Args:
        name: of the first node.
        source: name of the node that it reads.
        shape: its shape.
    """

    def __init__(self, name: str, source: str, shape: Shape) -> None:
        self.name, self.source, self.shape, self.nodes = name, source, shape, list[Node]()

    @property
    def last(self) -> str:
        """The name of the last node."""
        return self.nodes[-1].name if self.nodes else self.source

    def free(self, part: str) -> str:
        """Return a name for another node."""
        if not self.nodes:
            return self.name
        name, used = f"{self.name}-{part}", {node.name for node in self.nodes}
        candidates = (name, *(f"{name}-{count}" for count in range(2, 99)))
        return next(candidate for candidate in candidates if candidate not in used)

    def emit(self, op: str, *reads: str, part: str = "", weights: Mapping[str, Any] | None = None, **attrs: Any) -> str:
        """Append a node that reads some nodes; return its name."""
        arrays: dict[str, Array] = {key: np.asarray(value, np.float32) for key, value in (weights or {}).items()}
        self.nodes.append(Node(self.free(part or op), op, reads, attrs, arrays))
        return self.last

    def add(self, op: str, *others: str, part: str = "", weights: Mapping[str, Any] | None = None, **attrs: Any) -> str:
        """Append a node that reads the previous one, and then others; return its name."""
        return self.emit(op, self.last, *others, part=part, weights=weights, **attrs)

    def extend(self, nodes: Sequence[Node]) -> str:
        """Append nodes whose first reads the previous one."""
        self.nodes += nodes
        return self.last

    def reshaped(self, shape: Shape) -> str:
        """Append a reshape, unless the shape is the same."""
        if shape != self.shape:
            self.add("reshape" if in_textures(self.shape, shape) else "tensor_reshape", part="shape", shape=shape)
            self.shape = shape
        return self.last

    def function(self, text: str) -> str:
        """Append an activation function."""
        op = "activation" if in_textures(self.shape) else "tensor_function"
        return self.add(op, part=text.partition("(")[0], function=activation(text).text)


def two(name: str, operation: str, sources: Sequence[str], shapes: Sequence[Shape]) -> Node:
    """Return an operation on two tensors, with NumPy's broadcasting."""
    reads = tuple(sources)
    if not in_textures(*shapes) or not takes("binary", shapes, operation=operation):
        return Node(name, "tensor_binary", reads, {"operation": operation})
    if operation == "add" and shapes[0] == shapes[1]:
        return Node(name, "add", reads, {"activation": "linear"})
    return Node(name, "binary", reads, {"operation": operation})


def from_left(name: str, operation: str, sources: Sequence[str], shapes: Sequence[Shape]) -> list[Node]:
    """Return an operation on two or more tensors, from left to right; a sum of equal shapes is one node."""
    if operation == "add" and len(set(shapes)) == 1 and in_textures(shapes[0]):
        return [Node(name, "add", tuple(sources), {"activation": "linear"})]
    nodes: list[Node] = []
    left, shape = sources[0], shapes[0]
    for right, right_shape in zip(sources[1:], shapes[1:]):
        node_name = f"{name}-{len(nodes) + 1}" if nodes else name
        nodes.append(two(node_name, operation, (left, right), (shape, right_shape)))
        left, shape = node_name, np.broadcast_shapes(shape, right_shape)
    return nodes


def reduced(name: str, source: str, shape: Shape, kind: str, axes: Sequence[int], *, keep: bool) -> list[Node]:
    """Return a reduction along axes. A sequence is a map of one row.

    Args:
        name: of the first node.
        source: name of the input node, of ``shape``.
        shape: of the tensor.
        kind: one of ``cpu.tensors.REDUCTIONS``.
        axes: the reduced axes.
        keep: whether the result has the reduced axes, with a length of 1.
    """
    over = tuple(sorted(set(axes)))
    is_sequence, is_average = len(shape) == 2, kind in ("mean", "sum")
    rows, columns, channels = (axis - is_sequence in over for axis in range(3))
    has_map_shape = is_sequence or len(shape) == 3
    is_drawn = kind in WITH_SHADER and has_map_shape and (keep or len(over) < len(shape)) and over
    if not is_drawn or (channels and is_average and (is_sequence or not keep)):
        return [Node(name, "tensor_reduce", (source,), {"reduction": kind, "axes": over, "keep": keep})]
    chain = Chain(name, source, shape)
    if is_sequence:
        chain.reshaped((1, *shape))
    add = _add_average if is_average else _add_extreme
    add(chain, kind, rows=rows, columns=columns, channels=channels)
    result = tuple(1 if axis in over else size for axis, size in enumerate(shape) if keep or axis not in over)
    if len(result) == 1 < len(chain.shape):
        chain.add("flatten", part="vector", scale=None)
    elif len(chain.shape) == 1 and len(result) == 3:
        chain.add("reshape", part="map", shape=result)
    else:
        chain.reshaped(result)
    return chain.nodes


def _add_extreme(chain: Chain, kind: str, *, rows: bool, columns: bool, channels: bool) -> None:
    """Append the largest or smallest values of a map (``kind`` is ``max`` or ``min``) along axes."""
    height, width, depth = chain.shape
    if rows:
        chain.add(f"{kind}_pool", part="rows", pool=(height, 1), **ONCE)
    if columns:
        chain.add(f"{kind}_pool", part="columns", pool=(1, width), **ONCE)
    if channels:
        chain.add("channel_extreme", part="channels", operation=kind)
    chain.shape = (1 if rows else height, 1 if columns else width, 1 if channels else depth)


def _add_average(chain: Chain, kind: str, *, rows: bool, columns: bool, channels: bool) -> None:
    """Append the mean or sum of a map along axes. A sum is a mean times the number of elements.

    The factor comes first: in the weights of a convolution over the channels, or in a rescaling.
    """
    height, width, depth = chain.shape
    if rows or columns:  # the mean of a row of one pixel is a global mean
        rows, columns = rows or height == 1, columns or width == 1
    pixels = float((height if rows else 1) * (width if columns else 1))
    if channels:
        factor = 1.0 / depth if kind == "mean" else pixels
        weights = {"kernel": np.full((1, 1, depth, 1), factor), "bias": np.zeros(1)}
        chain.add("conv2d", part="channels", weights=weights, groups=1, activation="linear", **ONCE)
    elif kind == "sum":
        chain.add("rescaling", part="sum", scales=(pixels,), offsets=(0.0,))
    chain.shape = (1 if rows else height, 1 if columns else width, 1 if channels else depth)
    if rows and columns:
        chain.add("global_average_pool", part="mean", scale=None)
        chain.shape = chain.shape[2:]
    elif rows or columns:
        chain.add("average_pool", part="mean", pool=(height, 1) if rows else (1, width), **ONCE)


def product(name: str, source: str, shape: Shape, kernel: Array, bias: Array | None = None) -> Node:
    """Return the last axis of a tensor times a matrix (inputs, outputs), plus a bias."""
    weights = {"kernel": kernel} if bias is None else {"kernel": kernel, "bias": bias}
    if not in_textures(shape):
        return Node(name, "linear", (source,), {}, weights)
    weights["bias"] = np.zeros(kernel.shape[1], np.float32) if bias is None else bias
    if len(shape) == 1:
        return Node(name, "dense", (source,), {"activation": "linear"}, weights)
    return Node(name, "conv2d", (source,), dict(PLAIN), {**weights, "kernel": kernel[None, None]})


def matrix_times(name: str, source: str, rank: int, matrix: Array, *, is_transposed: bool = False) -> list[Node]:
    """Return a matrix times a tensor, on the CPU: the transpose of the product of both transposes.

    Args:
        name: of the first node.
        source: name of the input node, a tensor of ``rank`` axes.
        rank: the number of its axes.
        matrix: (outputs, inputs).
        is_transposed: whether the last two axes of the tensor are exchanged already.
    """
    axes = (*range(rank - 2), rank - 1, rank - 2)
    chain = Chain(name, source, ())
    if not is_transposed:
        chain.add("tensor_transpose", axes=axes)
    chain.add("linear", part="product", weights={"kernel": np.ascontiguousarray(matrix.T)})
    chain.add("tensor_transpose", part="back", axes=axes)
    return chain.nodes


def sliced(name: str, source: str, shape: Shape, parts: Sequence[range], result: Shape | None = None) -> list[Node]:
    """Return a slice of each axis, reshaped to ``result``. None of the ranges is empty."""
    size = tuple(map(len, parts))
    result = size if result is None else result
    chain = Chain(name, source, size)
    if all(part == range(length) for part, length in zip(parts, shape)):
        if result == size:
            return [Node(name, "identity", (source,))]
    elif not in_textures(shape, result):
        attrs: dict[str, Any] = {"begin": tuple(part.start for part in parts), "size": size}
        if any(part.step != 1 for part in parts):
            attrs["strides"] = tuple(part.step for part in parts)
        chain.add("tensor_slice", part="part", **attrs)
    elif len(shape) == 1:
        chain.add("vector_gather", part="part", channels=tuple(parts[0]))
    else:
        chain.extend(moves.part_of(name, source, shape, (parts[0], parts[1], parts[2])))
    chain.reshaped(result)
    return chain.nodes


def transposed(name: str, source: str, shape: Shape, axes: Sequence[int]) -> list[Node]:
    """Return a tensor with its axes in another order."""
    order = tuple(axes)
    if order == tuple(range(len(order))):
        return [Node(name, "identity", (source,))]
    if len(shape) == 3:
        long = [axis for axis in order if shape[axis] > 1]
        if long == sorted(long):
            return [Node(name, "reshape", (source,), {"shape": tuple(shape[axis] for axis in order)})]
        if order == (1, 0, 2):
            return [Node(name, "transpose", (source,))]
    return [Node(name, "tensor_transpose", (source,), {"axes": order})]


def concatenated(name: str, sources: Sequence[str], shapes: Sequence[Shape], axis: int) -> list[Node]:
    """Return tensors of one rank concatenated along an axis. A few maps are concatenated along rows by shaders."""
    rank = len(shapes[0])
    if in_textures(*shapes) and axis == rank - 1:
        return [Node(name, "concat", tuple(sources))]
    few = len(sources) <= moves.MOST_JOINED and sum(shape[axis] for shape in shapes) <= MAX_TEXTURE_SIZE
    if rank == 3 and few:
        return moves.concatenated(name, sources, shapes, axis)
    return [Node(name, "tensor_concat", tuple(sources), {"axis": axis})]


def concatenated_with(
    name: str, sources: Sequence[str], shapes: Sequence[Shape], values: Sequence[Array | None], axis: int
) -> list[Node]:
    """Return tensors and constants concatenated along an axis, such as a class token or coordinates of pixels.

    Args:
        name: of the first node.
        sources: names of the tensors.
        shapes: their shapes.
        values: the constants in the order of the operands, with None for each tensor.
        axis: the axis.

    Raises:
        ModelError: a constant is between tensors that are not maps, or is not finite.
    """
    size = [*shapes[0][:axis], 0, *shapes[0][axis + 1 :]]
    constants = [
        None if value is None else np.asarray(value, np.float32).reshape(*size[:axis], -1, *size[axis + 1 :])
        for value in values
    ]
    if not all(value is None or np.isfinite(value).all() for value in constants):
        raise ModelError.layer(name, "a constant that is not finite", "give finite numbers")
    if in_textures(*shapes):
        return _with_constant_maps(name, sources, shapes, constants, axis)
    return _with_constant_padding(name, sources, shapes, constants, axis)


def _with_constant_maps(
    name: str, sources: Sequence[str], shapes: Sequence[Shape], constants: Sequence[Array | None], axis: int
) -> list[Node]:
    """Return maps or vectors concatenated with constants, each of which becomes a node of its own."""
    rank = len(shapes[0])
    nodes, names, all_shapes = list[Node](), list[str](), list[Shape]()
    tensors = iter(zip(sources, shapes))
    for constant in constants:
        if constant is None:
            source, shape = next(tensors)
        else:
            source, shape = f"{name}-{len(nodes) + 1}" if nodes else name, constant.shape
            nodes.append(constant_map(source, constant.reshape((1,) * (3 - rank) + shape)))
            if rank == 1:
                nodes.append(Node(f"{source}-vector", "reshape", (source,), {"shape": shape}))
            source = nodes[-1].name
        names.append(source)
        all_shapes.append(shape)
    return [*nodes, *concatenated(f"{name}-all", names, all_shapes, axis)]


def _with_constant_padding(
    name: str, sources: Sequence[str], shapes: Sequence[Shape], constants: Sequence[Array | None], axis: int
) -> list[Node]:
    """Return tensors with constants before and after them: padded with zeros, to which the constants are added.

    Raises:
        ModelError: a constant is between tensors.
    """
    tensors = [index for index, constant in enumerate(constants) if constant is None]
    if tensors != list(range(tensors[0], tensors[0] + len(tensors))):
        raise ModelError.layer(name, "a constant between tensors", "put constants before or after them")
    length = sum(shape[axis] for shape in shapes)
    empty, shape = ((*shapes[0][:axis], size, *shapes[0][axis + 1 :]) for size in (0, length))
    before, after = (
        np.concatenate([np.zeros(empty, np.float32), *(constant for constant in side if constant is not None)], axis)
        for side in (constants[: tensors[0]], constants[tensors[-1] + 1 :])
    )
    nodes = concatenated(name, sources, shapes, axis) if len(sources) > 1 else []
    source, padded_name = (nodes[-1].name, f"{name}-padded") if nodes else (sources[0], name)
    widths = [(0, 0)] * len(shape)
    widths[axis] = (before.shape[axis], after.shape[axis])
    nodes += padded(padded_name, source, shape, widths)
    addend = np.concatenate([before, np.zeros(shape, np.float32), after], axis)
    if addend.any():
        weights = {"constant": addend}
        nodes.append(Node(f"{name}-constants", "tensor_binary", (nodes[-1].name,), {"operation": "add"}, weights))
    return nodes


def taken(name: str, source: str, shape: Shape, indices: Sequence[int], axis: int) -> list[Node]:
    """Return a tensor with some indices of an axis, in any order: a slice, or a gather of channels or of rows."""
    step = indices[1] - indices[0] if len(indices) > 1 else 1
    line = range(indices[0], indices[0] + step * len(indices), step or 1)
    if list(line) == list(indices):
        return sliced(name, source, shape, [line if other == axis else range(size) for other, size in enumerate(shape)])
    if in_textures(shape) and axis == len(shape) - 1:
        op = "vector_gather" if len(shape) == 1 else "channel_gather"
        return [Node(name, op, (source,), {"channels": tuple(indices)})]
    rows = np.broadcast_to(np.asarray(indices, np.float32)[:, None], (*shape[:axis], len(indices), 1))
    return [Node(name, "gather_points", (source,), {"batch": axis}, {"indices": np.ascontiguousarray(rows)})]


def stacked(name: str, sources: Sequence[str], shape: Shape, axis: int) -> list[Node]:
    """Return tensors along a new axis. ``shape`` is that of each, with a length of 1 along the axis."""
    names = [name, *(f"{name}-{number}" for number in range(2, len(sources) + 1))]
    nodes = [Node(own, "reshape", (source,), {"shape": shape}) for own, source in zip(names, sources)]
    return [*nodes, Node(f"{name}-all", "tensor_concat", tuple(names), {"axis": axis})]


def padded(
    name: str,
    source: str,
    shape: Shape,
    widths: Sequence[tuple[int, ...]],
    mode: str = "constant",
    value: float = 0.0,
) -> list[Node]:
    """Return a padded tensor. Shaders pad rows and columns of maps in any mode, and channels with zeros.

    Args:
        name: of the first node.
        source: name of the input node, of ``shape``.
        shape: of the tensor.
        widths: (before, after) of each axis. Negative values crop rows and columns of a map.
        mode: ``constant``, ``reflect``, ``symmetric`` or, for rows and columns of a map, ``edge``.
        value: of the padding, if it is constant.
    """
    flat = tuple(count for pair in widths for count in pair)
    zeros = mode == "constant" and not value and sum(flat[4:]) <= MOST_ZEROS
    if len(shape) != 3 or (any(flat[4:]) and not zeros):
        return [Node(name, "tensor_pad", (source,), {"padding": flat, "mode": mode, "value": value})]
    chain, padding = Chain(name, source, shape), flat[:4]
    if any(padding) and mode != "constant":
        chain.add("mirror_padding", padding=padding, mode=mode)
    elif any(padding) and value:
        if min(padding) < 0:
            chain.add("zero_padding", part="cut", padding=tuple(min(width, 0) for width in padding))
        chain.add("constant_padding", padding=tuple(max(width, 0) for width in padding), value=value)
    elif any(padding):
        chain.add("zero_padding", padding=padding)
    if any(flat[4:]):
        chain.extend(_zero_channels(chain.free("zeros"), chain.last, shape[2], *flat[4:]))
    return chain.nodes or [Node(name, "identity", (source,))]


def _zero_channels(name: str, source: str, channels: int, before: int, after: int) -> list[Node]:
    """Return a map with channels of zeros before and after its own.

    If slices change their lanes, one node draws all of them. Otherwise the zeros are drawn once: up to 4 channels, by a
    convolution whose weights are 0. Views put them at their positions.
    """
    if before % 4:
        order = (*[ZERO] * before, *range(channels), *[ZERO] * after)
        return [Node(name, "channel_gather", (source,), {"channels": order})]
    width = min(4, max(before, after), channels)
    weights = {"kernel": np.zeros((1, 1, 1, width), np.float32), "bias": np.zeros(width, np.float32)}
    zeros = Node(f"{name}-0", "conv2d", (name,), {**ONCE, "groups": width, "activation": "linear"}, weights)
    nodes = [Node(name, "channel_gather", (source,), {"channels": tuple(range(width))}), zeros]
    filled = min(-channels % 4, after)
    if filled:  # a slice has free lanes for them
        channels_and_zeros = (*range(channels), *[ZERO] * filled)
        nodes.append(Node(f"{name}-filled", "channel_gather", (source,), {"channels": channels_and_zeros}))
        source = nodes[-1].name
    sides = []
    for count in (before, after - filled):
        full_widths, remainder = divmod(count, width)
        sides.append([zeros.name] * full_widths)
        if remainder:
            fewer = Node(f"{name}-{remainder}", "channel_gather", (zeros.name,), {"channels": tuple(range(remainder))})
            if fewer.name not in {node.name for node in nodes}:  # the other side can have the same number
                nodes.append(fewer)
            sides[-1].append(fewer.name)
    return [*nodes, Node(f"{name}-joined", "concat", (*sides[0], source, *sides[1]))]


def one_hot(name: str, source: str, indices: Shape, depth: int, axis: int, off: float, on: float) -> list[Node]:
    """Return ``on`` at the index of each element along a new axis, and ``off`` elsewhere."""
    chain = Chain(name, source, indices)
    chain.add("tensor_reshape", part="shape", shape=(*indices[:axis], 1, *indices[axis:]))
    classes = np.arange(depth).reshape(-1, *(1,) * (len(indices) - axis))
    chain.add("tensor_binary", part="hot", operation="equal", weights={"constant": classes})
    for operation, value, neutral in (("multiply", on - off, 1.0), ("add", off, 0.0)):
        if value != neutral:
            chain.add("tensor_binary", part=operation, operation=operation, weights={"constant": [value]})
    return chain.nodes


def softmax(name: str, source: str, shape: Shape, axis: int) -> Node:
    """Return a softmax along an axis."""
    if in_textures(shape) and axis == len(shape) - 1:
        return Node(name, "softmax", (source,))
    return Node(name, "tensor_softmax", (source,), {"axis": axis})


Numbers = tuple[float, ...]


def over_channels(
    name: str, source: str, shape: Shape, kind: str, epsilon: float, gamma: Numbers = (1.0,), beta: Numbers = (0.0,)
) -> Node:
    """Return the node of a normalisation over the channels of each pixel, or over a vector.

    Args:
        name: of the node.
        source: name of the input node, of ``shape``.
        shape: (height, width, channels) or (channels,).
        kind: ``layer``, ``rms`` or ``unit``, as in ``ops.channel_norm``.
        epsilon: added to the variance.
        gamma: factors: one, or one per channel.
        beta: offsets added after the multiplication: one, or one per channel.
    """
    op = "vector_norm" if len(shape) == 1 else "channel_norm"
    return Node(name, op, (source,), {"kind": kind, "gamma": gamma, "beta": beta, "epsilon": epsilon})


def over_map(
    name: str, source: str, shape: Shape, groups: int, epsilon: float, gamma: Numbers, beta: Numbers
) -> list[Node]:
    """Return the nodes of a normalisation over rows, columns and ``groups`` groups of channels."""
    deviation = f"{name}-deviation"
    nodes = [
        Node(name, "global_average_pool", (source,), {"scale": None}),
        Node(deviation, "global_deviation", (source,), {"scale": None}),
    ]
    statistics = (name, deviation)
    if groups != shape[2]:
        mean, spread = (f"{name}-group-{part}" for part in ("mean", "deviation"))
        for statistic, part in ((mean, "mean"), (spread, "deviation")):
            attrs = {"groups": groups, "statistic": part, "scale": None}
            nodes.append(Node(statistic, "group_statistics", (name, deviation), attrs))
        statistics = (mean, spread)
    attrs = {"gamma": gamma, "beta": beta, "epsilon": epsilon}
    return [*nodes, Node(f"{name}-norm", "map_norm", (source, *statistics), attrs)]


def weighted_sums(
    matrix: NDArray[np.float64], offset: NDArray[np.float64], axis: int
) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]] | None:
    """Return the attributes and the weights of ``resample``; None if an output depends on too many inputs.

    Args:
        matrix: (outputs, inputs).
        offset: added to each output, (outputs,).
        axis: 0 for rows, 1 for columns.
    """
    length = matrix.shape[1]
    used = matrix != 0.0
    begins = np.where(used.any(axis=1), used.argmax(axis=1), 0)
    ends = np.where(used.any(axis=1), length - used[:, ::-1].argmax(axis=1), 1)
    taps = int((ends - begins).max())
    if taps > MOST_TAPS:
        return None
    first = np.minimum(begins, length - taps)
    kernel = np.take_along_axis(matrix, first[:, None] + np.arange(taps), axis=1).T
    attrs, weights = rounded(kernel, offset)
    return {"axis": axis, "first": tuple(int(index) for index in first), **attrs}, weights
