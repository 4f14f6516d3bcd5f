"""Tensors whose batch is not their first axis, or has several parts of each image.

The tensor of a node does not have a batch axis. So the position of the batch in Keras, as in
``q, k, v = transpose(x, (2, 0, 3, 1, 4))`` and then ``q = x[0]``, does not change the values. But operations name axes
by index, and the position of the batch is tracked. If Keras stores several parts of each image in the batch, such as
windows after ``reshape(x, (-1, 16, 32))``, the node has an additional first axis for the parts. Operations along the
last axes are independent of this axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras import geometry
from glsl_infer.importers.keras.call import Call, is_tensor
from glsl_infer.importers.keras.geometry import order_of
from glsl_infer.importers.keras.tensor_places import MOVES, cut, placed


def _axes_of(axis: Any) -> Any:
    """Return an option for one axis or several as NumPy takes it."""
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


BatchAxes = tuple[int, ...]
"""The batch axis of each input."""

LAST_AXIS = frozenset({"Dense", "LayerNormalization", "Softmax", "LogSoftmax"})
"""Layers and operations along the last axis by default."""

TWO_LAST = frozenset({"Matmul"})

EACH = frozenset(
    {
        *("Abs", "Absolute", "Add", "Activation", "Cast", "Clip", "Divide", "Dropout", "ELU", "Elu", "Exp", "GELU"),
        *("Gelu", "HardSigmoid", "HardSilu", "Identity", "LeakyReLU", "LeakyRelu", "Log", "Maximum", "Minimum"),
        *("Multiply", "Negative", "ReLU", "Relu", "Relu6", "Rsqrt", "Sigmoid", "Silu", "Softplus", "Sqrt", "Square"),
        *("StopGradient", "Subtract", "Tanh", "TrueDivide"),
    }
)
"""Elementwise layers and operations, for any order of axes."""


def moves(operation: Any, rank: int, batch_axes: BatchAxes) -> bool:
    """Return whether the batch of a call's tensors is not the first axis, before or after the call."""
    order = order_of(operation, rank) if len(batch_axes) == 1 else None
    return any(batch_axes) or (order is not None and order[0] != 0)


def without_batch(shape: Sequence[int | None], batch_axis: int) -> tuple[int | None, ...]:
    """Return a tensor's shape without its batch axis."""
    return (*shape[:batch_axis], *shape[batch_axis + 1 :])


def _axis(call: Call) -> Any:
    axis = getattr(call.layer, "axis", -1)
    return axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis


def axis_after(call: Call, batch_axes: BatchAxes) -> int:
    """Return the batch axis of a call's output.

    Raises:
        ModelError: the call is not supported for a batch at this axis.
    """
    kind, rank, batch_axis = type(call.layer).__name__, len(call.shapes[0]) + 1, batch_axes[0]
    alike = all(other == batch_axis for other in batch_axes) and len({len(shape) for shape in call.shapes}) == 1
    leading = rank - (1 if kind in LAST_AXIS else 2 if kind in TWO_LAST else 0)
    supported = kind in EACH or (
        kind in LAST_AXIS | TWO_LAST and batch_axis < leading and _axis(call) in (-1, rank - 1)
    )
    constants = [value for value in call.arguments if not hasattr(value, "_keras_history") and np.ndim(value) > 1]
    if alike and supported and not constants:
        return batch_axis
    raise call.refused(
        f"{kind} of a tensor whose batch is axis {batch_axis}",
        "bring the batch back to the front first, with keras.ops.transpose",
    )


def moved(call: Call, batch_axis: int) -> tuple[list[Node], int] | None:
    """Return the nodes of an operation on axes, and the batch axis of its output; None for other operations."""
    shape, move = call.shapes[0], _ANYWHERE.get(type(call.layer).__name__)
    order = order_of(call.layer, len(shape) + 1)
    if order is not None:
        axes = tuple(axis - (axis > batch_axis) for axis in order if axis != batch_axis)
        if axes == tuple(range(len(axes))):
            return [call.node("reshape", {"shape": shape})], order.index(batch_axis)
        return [call.node("tensor_transpose", {"axes": axes})], order.index(batch_axis)
    if move is None:
        return None
    twice = np.moveaxis(np.arange(2 * math.prod(shape)).reshape(2, *shape), 0, batch_axis)  # of a batch of two
    result, after = _followed(call, move, twice, batch_axis, 2)
    numbers = np.take(result, 0, after)
    if np.array_equal(numbers.reshape(-1), np.arange(math.prod(shape))):
        return [call.node("reshape", {"shape": numbers.shape})], after
    return cut(call, numbers[None]), after


def _followed(
    call: Call, move: Callable[[Call, Numbers], Numbers], numbers: Numbers, batch_axis: int, parts: int
) -> tuple[Numbers, int]:
    """Return indices after a move, and the axis of the parts, which is ``batch_axis`` before it.

    Raises:
        ModelError: the move mixes parts.
    """
    try:
        result = move(call, numbers)
    except (ValueError, TypeError, IndexError) as error:
        raise call.refused(f"{type(call.layer).__name__}: {error}", "check its inputs") from None
    part = result // (numbers.size // parts)
    axes = [axis for axis, size in enumerate(result.shape) if size == parts and _counts(np.moveaxis(part, axis, 0))]
    if not axes:
        raise call.refused(
            f"{type(call.layer).__name__} across the batch", f"keep the batch, axis {batch_axis}, as it is"
        )
    return result, axes[0]


def as_first(call: Call, batch_axis: int, shape: Sequence[int | None]) -> Call:
    """Return the call with the shape of its output without the batch, whose axis is ``batch_axis``."""
    sizes = tuple(size for size in without_batch(shape, batch_axis) if size is not None)
    return replace(call, shape=sizes)


MOST_ROWS = 2048
"""Largest number of rows for parts below each other: the texture height that every driver supports."""

Numbers = NDArray[np.int64]

_RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "ExpandDims"})
"""Layers and operations that keep the order of values."""

_ORDERS = frozenset({"Permute", "Transpose"})

_LAST_AXIS = LAST_AXIS | {"MultiHeadAttention"}


_ANYWHERE: Mapping[str, Callable[[Call, Numbers], Numbers]] = {
    "ExpandDims": lambda call, numbers: np.expand_dims(numbers, _axes_of(call.layer.axis)),
    "GetItem": lambda call, numbers: numbers[geometry.index_of(call)],
    "Split": MOVES["Split"],
    "Squeeze": lambda call, numbers: np.squeeze(numbers, _axes_of(call.layer.axis)),
    "Take": MOVES["Take"],
    "Unstack": MOVES["Unstack"],
}
"""Effect of operations on indices whose batch is any axis, by class name."""


def changes(operation: Any, before: Sequence[int], after: Sequence[int | None]) -> bool:
    """Return whether a reshape changes the batch. The shapes ``before`` and ``after`` exclude it."""
    sizes = [size for size in after if size]
    return type(operation).__name__ == "Reshape" and len(sizes) == len(after) and math.prod(sizes) != math.prod(before)


def each_alone(call: Call, parts: Sequence[int]) -> bool:
    """Return whether a call processes every part separately, by operators without an axis for parts."""
    return len(call.inputs) == 1 and parts[0] > 1 and not _is_move(call.layer) and not _beside(call)


def below_each_other(call: Call, convert: Callable[[Call], list[Node]]) -> list[Node]:
    """Return the nodes of one call for all parts, stored below each other with their padding between them.

    A convolution of windows becomes one convolution with one range. The result is [] if the call does not allow this.
    """
    count, *shape = call.shapes[0]
    if len(shape) != 3:
        return []
    nodes_of_part = convert(replace(call, shapes=(tuple(shape),)))
    first, (height, width, channels) = nodes_of_part[0], shape
    top, bottom, left, right = first.attrs.get("padding", (0, 0, 0, 0))
    (down, across), window = first.attrs.get("strides", (1, 1)), (1, 1)
    if first.op == "conv2d":
        steps = first.attrs.get("dilations", (1, 1))
        window = tuple(step * (taps - 1) + 1 for step, taps in zip(steps, first.weights["kernel"].shape))
        channels = first.weights["kernel"].shape[3]
    if first.op not in ("conv2d", "batch_norm", "rescaling") or any(
        node.op != "activation" for node in nodes_of_part[1:]
    ):
        return []
    tall = -(-(height + top + bottom) // down) * down
    if count * tall > MOST_ROWS:
        return []
    rows, columns = (height + top + bottom - window[0]) // down + 1, (width + left + right - window[1]) // across + 1
    padding = (0, 0, top, tall - height - top, 0, 0, 0, 0)
    nodes = [call.node("tensor_pad", {"padding": padding})] if tall > height else []
    whole = f"{call.name}-whole"
    reads = (call.name,) if nodes else call.inputs
    nodes.append(Node(whole if nodes else call.name, "reshape", reads, {"shape": (count * tall, width, shape[2])}))
    before = nodes[-1].name
    for number, node in enumerate(nodes_of_part):
        attrs = dict(node.attrs)
        if node.op == "conv2d":
            attrs["padding"] = (0, window[0] - 1, left, right)
        nodes.append(replace(node, name=f"{call.name}-all-{number}", inputs=(before,), attrs=attrs))
        before = nodes[-1].name
    parted = {"shape": (count, tall // down, columns, channels)}
    nodes.append(Node(f"{call.name}-parts", "tensor_reshape", (before,), parted))
    if tall // down == rows:
        return nodes
    cut = {"begin": (0, 0, 0, 0), "size": (count, rows, columns, channels), "strides": (1, 1, 1, 1)}
    return [*nodes, Node(f"{call.name}-cut", "tensor_slice", (nodes[-1].name,), cut)]


def converted(call: Call, parts: Sequence[int], convert: Callable[[Call], list[Node]]) -> tuple[list[Node], int]:
    """Return the nodes of a call with several parts of each image in or out, and the number of parts of the output.

    Args:
        call: its input shapes begin with the number of parts if the input has parts. Its output shape does not.
        parts: number of parts of each input; 1 for an ordinary batch.
        convert: converter of a call whose shapes begin with the number of parts.

    Raises:
        ModelError: the call mixes parts.
    """
    if len(call.inputs) == 1 and _is_move(call.layer):
        shape = call.shapes[0] if parts[0] > 1 else (1, *call.shapes[0])
        numbers = _apply(call, np.arange(math.prod(shape)).reshape(shape))
        return placed(call, numbers if len(numbers) > 1 else numbers[0]), len(numbers)
    if len(set(parts)) != 1 or len(set(map(len, call.shapes))) != 1 or not _beside(call):
        kind = type(call.layer).__name__
        raise call.refused(
            f"{kind} of a batch with {max(parts)} parts of each image",
            f"give the parts an axis of their own: reshape to (-1, {max(parts)}, ...)",
        )
    longer = replace(call, shape=(parts[0], *call.shape))
    if type(call.layer).__name__ == "Einsum":
        return _einsum(longer), parts[0]
    return convert(longer), parts[0]


def elsewhere(
    call: Call,
    shape: Sequence[int | None],
    batch_axes: Sequence[int],
    parts: int,
    convert: Callable[[Call], list[Node]],
) -> tuple[list[Node], int]:
    """Return the nodes of a call whose batch, with several parts, is not the first axis, and the output's batch axis.

    The axis of parts is the first axis of a node, even if Keras stores it elsewhere, as in
    ``q, k, v = transpose(x, (2, 0, 3, 1, 4))`` of windows.

    Args:
        call: its shapes begin with the number of parts.
        shape: shape of the output, with its batch.
        batch_axes: the batch axis of each input.
        parts: number of parts of each input.
        convert: as in ``converted``.

    Raises:
        ModelError: the call is not supported for a batch at this axis.
    """
    order = geometry.order_of(call.layer, len(call.shapes[0]))
    move = _ANYWHERE.get(type(call.layer).__name__)
    if order is None and move is None:
        batch_axis = axis_after(
            replace(call, shapes=tuple(of_parts[1:] for of_parts in call.shapes)), tuple(batch_axes)
        )
        of_part = as_first(call, batch_axis, shape)
        return convert(replace(of_part, shape=(parts, *of_part.shape))), batch_axis
    numbers = np.moveaxis(np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0]), 0, batch_axes[0])
    if order is not None:
        move = lambda call, numbers: numbers.transpose(order)  # noqa: E731
    assert move is not None
    result, after = _followed(call, move, numbers, batch_axes[0], parts)
    return placed(call, np.moveaxis(result, after, 0)), after


def _counts(part: Numbers) -> bool:
    return bool(np.all(part == _counted(len(part), part.ndim)))


def _is_move(operation: Any) -> bool:
    return type(operation).__name__ in _RESHAPES | _ORDERS | MOVES.keys()


def _apply(call: Call, numbers: Numbers) -> Numbers:
    """Return indices after a move. The first axis of the indices is the axis of parts."""
    kind, parts = type(call.layer).__name__, len(numbers)
    if kind in _RESHAPES:
        if numbers.size % math.prod(call.shape):
            raise call.refused(
                f"a reshape to {tuple(call.shape)} and another batch", "leave whole parts of images in it"
            )
        return numbers.reshape(-1, *call.shape)
    order = geometry.order_of(call.layer, numbers.ndim)
    result: Numbers
    if order is not None:
        result = numbers.transpose(order)
        first = order[0] == 0
    else:
        result = MOVES[kind](call, numbers)
        first = len(result) == parts and _counts(result // (numbers.size // parts))
    if not first:
        raise call.refused("a change of the batch", "keep the batch as it is, the first axis")
    return result


def _counted(parts: int, rank: int) -> Numbers:
    return np.arange(parts).reshape(-1, *(1,) * (rank - 1))


def _beside(call: Call) -> bool:
    """Return whether a call processes every part separately because it works along its last axes only."""
    kind, last = type(call.layer).__name__, _axis(call) == -1
    supported = EACH | TWO_LAST | {"Einsum"}
    return kind in supported or (kind in _LAST_AXIS and last)


def _einsum(call: Call) -> list[Node]:
    """Convert an einsum of tensors. The letter of the batch becomes that of the axis of parts."""
    equation = str(call.layer.subscripts).replace(" ", "")
    terms, arrow, result = equation.partition("->")
    values = call.operands
    begins = {term[:1] for term in (*terms.split(","), result)}
    if "." in equation or not arrow or len(begins) != 1 or not all(map(is_tensor, values)):
        raise call.refused(f"the einsum '{equation}'", "let every tensor and the result begin with the batch")
    return [call.node("einsum", {"equation": equation})]
