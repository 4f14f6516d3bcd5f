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

from glsl_infer.errors import ModelError
from glsl_infer.graph import Node
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.keras import geometry
from glsl_infer.importers.keras.call import Call, is_tensor
from glsl_infer.importers.keras.geometry import order_of
from glsl_infer.importers.keras.tensor_places import MOVES, gathered, sliced

BatchAxes = tuple[int, ...]
"""The batch axis of each input."""

ALONG_LAST_AXIS = frozenset({"Dense", "LayerNormalization", "Softmax", "LogSoftmax"})
"""Layers and operations along the last axis by default."""

ALONG_LAST_TWO_AXES = frozenset({"Matmul"})
"""Operations along the last two axes."""

ELEMENTWISE = frozenset(
    {
        *("Abs", "Absolute", "Add", "Activation", "Cast", "Clip", "Divide", "Dropout", "ELU", "Elu", "Exp", "GELU"),
        *("Gelu", "HardSigmoid", "HardSilu", "Identity", "LeakyReLU", "LeakyRelu", "Log", "Maximum", "Minimum"),
        *("Multiply", "Negative", "ReLU", "Relu", "Relu6", "Rsqrt", "Sigmoid", "Silu", "Softplus", "Sqrt", "Square"),
        *("StopGradient", "Subtract", "Tanh", "TrueDivide"),
    }
)
"""Elementwise layers and operations, for any order of axes."""

_RESHAPES = frozenset({"Reshape", "Flatten", "Squeeze", "ExpandDims"})
"""Layers and operations that keep the order of values."""

_TRANSPOSITIONS = frozenset({"Permute", "Transpose"})
"""Layers and operations that exchange axes."""

MOST_ROWS = 2048
"""Largest number of rows for parts below each other: the texture height that every driver supports."""

Indices = NDArray[np.int64]
"""A tensor whose values are their own positions before an operation, to follow its reordering."""


def _axes_of(axis: Any) -> Any:
    """Return an option for one axis or several as NumPy takes it."""
    return tuple(axis) if isinstance(axis, (list, tuple)) else axis


_REORDERINGS: Mapping[str, Callable[[Call, Indices], Indices]] = {
    "ExpandDims": lambda call, indices: np.expand_dims(indices, _axes_of(call.layer.axis)),
    "GetItem": lambda call, indices: indices[geometry.index_of(call)],
    "Split": MOVES["Split"],
    "Squeeze": lambda call, indices: np.squeeze(indices, _axes_of(call.layer.axis)),
    "Take": MOVES["Take"],
    "Unstack": MOVES["Unstack"],
}
"""Operations that only reorder values, applied to indices with the batch at any axis, by class name."""


def moves_batch(operation: Any, rank: int, batch_axes: BatchAxes) -> bool:
    """Return whether the batch is not the first axis of a tensor that a call reads or returns."""
    order = order_of(operation, rank) if len(batch_axes) == 1 else None
    return any(batch_axes) or (order is not None and order[0] != 0)


def without_batch(shape: Sequence[int | None], batch_axis: int) -> tuple[int | None, ...]:
    """Return a tensor's shape without its batch axis."""
    return (*shape[:batch_axis], *shape[batch_axis + 1 :])


def _axis_option(call: Call) -> Any:
    axis = getattr(call.layer, "axis", -1)
    return axis[0] if isinstance(axis, (list, tuple)) and len(axis) == 1 else axis


def axis_after(call: Call, batch_axes: BatchAxes) -> int:
    """Return the batch axis of a call's output.

    Raises:
        ModelError: the call is not supported for a batch at this axis.
    """
    kind, rank, batch_axis = type(call.layer).__name__, len(call.shapes[0]) + 1, batch_axes[0]
    alike = all(other == batch_axis for other in batch_axes) and len({len(shape) for shape in call.shapes}) == 1
    leading = rank - (1 if kind in ALONG_LAST_AXIS else 2 if kind in ALONG_LAST_TWO_AXES else 0)
    supported = kind in ELEMENTWISE or (
        kind in ALONG_LAST_AXIS | ALONG_LAST_TWO_AXES and batch_axis < leading and _axis_option(call) in (-1, rank - 1)
    )
    constants = [value for value in call.arguments if not hasattr(value, "_keras_history") and np.ndim(value) > 1]
    if alike and supported and not constants:
        return batch_axis
    raise call.refused(
        f"{kind} of a tensor whose batch is axis {batch_axis}",
        "bring the batch back to the front first, with keras.ops.transpose",
    )


def _is_index_of_part(part_of_value: Indices) -> bool:
    """Return whether each value belongs to the part with its index along the first axis."""
    expected = np.arange(len(part_of_value)).reshape(-1, *(1,) * (part_of_value.ndim - 1))
    return bool(np.all(part_of_value == expected))


def _reorder_with_batch(
    call: Call, move: Callable[[Call, Indices], Indices], indices: Indices, batch_axis: int, parts: int
) -> tuple[Indices, int]:
    """Return indices after a reordering, and the axis of the parts, which is ``batch_axis`` before it.

    Raises:
        ModelError: the reordering mixes parts.
    """
    try:
        result = move(call, indices)
    except (ValueError, TypeError, IndexError) as error:
        raise call.refused(f"{type(call.layer).__name__}: {error}", "check its inputs") from None
    part_of_value = result // (indices.size // parts)
    axes = [
        axis
        for axis, size in enumerate(result.shape)
        if size == parts and _is_index_of_part(np.moveaxis(part_of_value, axis, 0))
    ]
    if not axes:
        raise call.refused(
            f"{type(call.layer).__name__} across the batch", f"keep the batch, axis {batch_axis}, as it is"
        )
    return result, axes[0]


def convert_axis_operation(call: Call, batch_axis: int) -> tuple[list[Node], int] | None:
    """Return the nodes of an operation on axes, and the batch axis of its output; None for other operations."""
    shape, move = call.shapes[0], _REORDERINGS.get(type(call.layer).__name__)
    order = order_of(call.layer, len(shape) + 1)
    if order is not None:
        axes = tuple(axis - (axis > batch_axis) for axis in order if axis != batch_axis)
        if axes == tuple(range(len(axes))):
            return [call.node("reshape", {"shape": shape})], order.index(batch_axis)
        return [call.node("tensor_transpose", {"axes": axes})], order.index(batch_axis)
    if move is None:
        return None
    batch_of_two = np.moveaxis(np.arange(2 * math.prod(shape)).reshape(2, *shape), 0, batch_axis)
    result, after = _reorder_with_batch(call, move, batch_of_two, batch_axis, 2)
    indices = np.take(result, 0, after)
    if np.array_equal(indices.reshape(-1), np.arange(math.prod(shape))):
        return [call.node("reshape", {"shape": indices.shape})], after
    return sliced(call, indices[None]), after


def with_output_shape(call: Call, batch_axis: int, shape: Sequence[int | None]) -> Call:
    """Return the call with the shape of its output without the batch, whose axis is ``batch_axis``."""
    sizes = tuple(size for size in without_batch(shape, batch_axis) if size is not None)
    return replace(call, shape=sizes)


def changes_batch(operation: Any, before: Sequence[int], after: Sequence[int | None]) -> bool:
    """Return whether a reshape changes the batch. The shapes ``before`` and ``after`` exclude it."""
    sizes = [size for size in after if size]
    return type(operation).__name__ == "Reshape" and len(sizes) == len(after) and math.prod(sizes) != math.prod(before)


def _is_reordering(operation: Any) -> bool:
    return type(operation).__name__ in _RESHAPES | _TRANSPOSITIONS | MOVES.keys()


def _is_independent_of_parts(call: Call) -> bool:
    """Return whether a call processes every part separately because it works along its last axes only."""
    kind, last = type(call.layer).__name__, _axis_option(call) == -1
    supported = ELEMENTWISE | ALONG_LAST_TWO_AXES | {"Einsum"}
    return kind in supported or (kind in ALONG_LAST_AXIS | {"MultiHeadAttention"} and last)


def needs_a_copy_per_part(call: Call, parts: Sequence[int]) -> bool:
    """Return whether a call processes every part separately, by operators without an axis for parts."""
    return (
        len(call.inputs) == 1 and parts[0] > 1 and not _is_reordering(call.layer) and not _is_independent_of_parts(call)
    )


def stack_parts(call: Call, convert: Callable[[Call], list[Node]]) -> list[Node]:
    """Return the nodes of one call for all parts, stored below each other with their padding between them.

    A convolution of windows becomes one convolution with one range. The result is [] if the call does not allow this.
    """
    count, *shape = call.shapes[0]
    if len(shape) != 3:
        return []
    height, width, channels = shape
    layer, *activations = convert(replace(call, shapes=(tuple(shape),)))
    if layer.op not in ("conv2d", "batch_norm", "rescaling") or any(node.op != "activation" for node in activations):
        return []
    top, bottom, left, right = layer.attrs.get("padding", (0, 0, 0, 0))
    row_stride, column_stride = layer.attrs.get("strides", (1, 1))
    (window_rows, window_columns), filters = _window_and_filters(layer, channels)
    rows = (height + top + bottom - window_rows) // row_stride + 1
    columns = (width + left + right - window_columns) // column_stride + 1
    pitch = -(-(height + top + bottom) // row_stride) * row_stride  # from part to part, a multiple of the stride
    if count * pitch > MOST_ROWS:
        return []

    nodes = []
    if pitch > height:
        nodes.append(call.node("tensor_pad", {"padding": (0, 0, top, pitch - height - top, 0, 0, 0, 0)}))
    name, inputs = (f"{call.name}-whole", (call.name,)) if nodes else (call.name, call.inputs)
    nodes.append(Node(name, "reshape", inputs, {"shape": (count * pitch, width, channels)}))
    for index, node in enumerate((layer, *activations)):
        attrs = dict(node.attrs)
        if node.op == "conv2d":
            attrs["padding"] = (0, window_rows - 1, left, right)
        nodes.append(replace(node, name=f"{call.name}-all-{index}", inputs=(nodes[-1].name,), attrs=attrs))
    shape_with_parts = {"shape": (count, pitch // row_stride, columns, filters)}
    nodes.append(Node(f"{call.name}-parts", "tensor_reshape", (nodes[-1].name,), shape_with_parts))
    if pitch // row_stride > rows:
        own_rows = {"begin": (0, 0, 0, 0), "size": (count, rows, columns, filters), "strides": (1, 1, 1, 1)}
        nodes.append(Node(f"{call.name}-cut", "tensor_slice", (nodes[-1].name,), own_rows))
    return nodes


def _window_and_filters(layer: Node, channels: int) -> tuple[tuple[int, int], int]:
    """Return the size of a layer's window with its dilation, (rows, columns), and the number of output channels."""
    if layer.op != "conv2d":
        return (1, 1), channels
    dilations, kernel = layer.attrs.get("dilations", (1, 1)), layer.weights["kernel"]
    rows, columns = (step * (taps - 1) + 1 for step, taps in zip(dilations, kernel.shape))
    return (rows, columns), kernel.shape[3]


def _reorder_parts(call: Call, indices: Indices) -> Indices:
    """Return indices after a reordering. The first axis of the indices is the axis of parts."""
    kind, parts = type(call.layer).__name__, len(indices)
    if kind in _RESHAPES:
        if indices.size % math.prod(call.shape):
            raise call.refused(
                f"a reshape to {tuple(call.shape)} and another batch", "leave whole parts of images in it"
            )
        return indices.reshape(-1, *call.shape)
    order = geometry.order_of(call.layer, indices.ndim)
    result: Indices
    if order is not None:
        result = indices.transpose(order)
        first = order[0] == 0
    else:
        result = MOVES[kind](call, indices)
        first = len(result) == parts and _is_index_of_part(result // (indices.size // parts))
    if not first:
        raise call.refused("a change of the batch", "keep the batch as it is, the first axis")
    return result


def _einsum(call: Call) -> list[Node]:
    """Convert an einsum of tensors. The letter of the batch becomes that of the axis of parts."""
    equation = str(call.layer.subscripts).replace(" ", "")
    terms, arrow, result = equation.partition("->")
    values = call.operands
    begins = {term[:1] for term in (*terms.split(","), result)}
    if "." in equation or not arrow or len(begins) != 1 or not all(map(is_tensor, values)):
        raise call.refused(f"the einsum '{equation}'", "let every tensor and the result begin with the batch")
    return [call.node("einsum", {"equation": equation})]


def convert_with_parts(
    call: Call, parts: Sequence[int], convert: Callable[[Call], list[Node]]
) -> tuple[list[Node], int]:
    """Return the nodes of a call with several parts of each image in or out, and the number of parts of the output.

    Args:
        call: its input shapes begin with the number of parts if the input has parts. Its output shape does not.
        parts: number of parts of each input; 1 for an ordinary batch.
        convert: converter of a call whose shapes begin with the number of parts.

    Raises:
        ModelError: the call mixes parts.
    """
    if len(call.inputs) == 1 and _is_reordering(call.layer):
        shape = call.shapes[0] if parts[0] > 1 else (1, *call.shapes[0])
        indices = _reorder_parts(call, np.arange(math.prod(shape)).reshape(shape))
        return gathered(call, indices if len(indices) > 1 else indices[0]), len(indices)
    if len(set(parts)) != 1 or len(set(map(len, call.shapes))) != 1 or not _is_independent_of_parts(call):
        kind = type(call.layer).__name__
        raise call.refused(
            f"{kind} of a batch with {max(parts)} parts of each image",
            f"give the parts an axis of their own: reshape to (-1, {max(parts)}, ...)",
        )
    with_parts = replace(call, shape=(parts[0], *call.shape))
    if type(call.layer).__name__ == "Einsum":
        return _einsum(with_parts), parts[0]
    return convert(with_parts), parts[0]


def convert_with_parts_at_axis(
    call: Call,
    shape: Sequence[int | None],
    batch_axes: Sequence[int],
    parts: int,
    convert: Callable[[Call], list[Node]],
) -> tuple[list[Node], int]:
    """Return the nodes of a call whose batch, with several parts, is not the first axis, and the output's batch axis.

    The axis of parts is the first axis of a node, even if Keras stores it at another axis, as in
    ``q, k, v = transpose(x, (2, 0, 3, 1, 4))`` of windows.

    Args:
        call: its shapes begin with the number of parts.
        shape: shape of the output, with its batch.
        batch_axes: the batch axis of each input.
        parts: number of parts of each input.
        convert: converter of a call whose shapes begin with the number of parts.

    Raises:
        ModelError: the call is not supported for a batch at this axis.
    """
    order = geometry.order_of(call.layer, len(call.shapes[0]))
    move = _REORDERINGS.get(type(call.layer).__name__)
    if order is None and move is None:
        batch_axis = axis_after(
            replace(call, shapes=tuple(of_parts[1:] for of_parts in call.shapes)), tuple(batch_axes)
        )
        of_part = with_output_shape(call, batch_axis, shape)
        return convert(replace(of_part, shape=(parts, *of_part.shape))), batch_axis
    indices = np.moveaxis(np.arange(math.prod(call.shapes[0])).reshape(call.shapes[0]), 0, batch_axes[0])
    if order is not None:
        move = lambda call, indices: indices.transpose(order)  # noqa: E731
    assert move is not None
    result, after = _reorder_with_batch(call, move, indices, batch_axes[0], parts)
    return gathered(call, np.moveaxis(result, after, 0)), after


class BatchLayouts:
    """The batch axis and the number of parts of each image, for the nodes of a graph.

    Args:
        builder: the graph under construction.
        convert: converter of a call.
        unroll: adds a layer for each entry of the first axis of a call's input, with separate nodes; returns the node
            that concatenates the results.
    """

    def __init__(
        self, builder: GraphBuilder, convert: Callable[[Call], list[Node]], unroll: Callable[[Call, Any], str]
    ) -> None:
        self._builder = builder
        self._convert = convert
        self._unroll = unroll
        self._batch_axes: dict[str, int] = {}  # if not 0
        self._parts: dict[str, int] = {}  # if more than 1: a reshape to (-1, ...) moved them to the batch

    def parts_of(self, node: str) -> int:
        """Return the number of parts of each image in the batch of a node's tensor."""
        return self._parts.get(node, 1)

    def record_parts(self, nodes: Sequence[str], parts: int) -> None:
        """Record that the batches of nodes have several parts of each image."""
        self._parts.update(dict.fromkeys(nodes, parts))

    def output_problems(self, node: str) -> list[ModelError]:
        """Return the reasons why a node cannot be an output of the model."""
        problems = []
        if node in self._batch_axes:
            advice = "bring the batch back to the front, with keras.ops.transpose"
            problem = f"an output whose batch is axis {self._batch_axes[node]}"
            problems.append(ModelError.layer(node, problem, advice))
        if node in self._parts:
            problem = f"an output with {self._parts[node]} parts of each image in its batch"
            problems.append(ModelError.layer(node, problem, "reshape it to (-1, parts, ...)"))
        return problems

    def add(self, call: Call, shape: Sequence[int | None]) -> str | None:
        """Add a call for which the position of the batch or parts in the batch matter; return None for other calls.

        Args:
            call: the call.
            shape: shape of the output in Keras, with its batch.

        Returns:
            The node that computes the output.

        Raises:
            ModelError: the call is not supported.
        """
        batch_axes = tuple(self._batch_axes.get(name, 0) for name in call.inputs)
        parts = tuple(map(self.parts_of, call.inputs))
        has_parts = max(parts, default=1) > 1
        if has_parts and moves_batch(call.layer, len(call.shapes[0]), batch_axes):
            nodes, axis = convert_with_parts_at_axis(call, shape, batch_axes, parts[0], self._convert)
            return self._record(self._builder.add(nodes), parts[0], axis)
        if not any(batch_axes):
            if needs_a_copy_per_part(call, parts):
                return self._record(self._copied_per_part(call, parts[0]), parts[0])
            if has_parts or (len(parts) == 1 and changes_batch(call.layer, call.shapes[0], call.shape)):
                nodes, output_parts = convert_with_parts(call, parts, self._convert)
                return self._record(self._builder.add(nodes), output_parts)
        if moves_batch(call.layer, len(shape), batch_axes):
            nodes_and_axis = convert_axis_operation(call, batch_axes[0])
            if nodes_and_axis is None:
                axis = axis_after(call, batch_axes)
                nodes_and_axis = self._convert(with_output_shape(call, axis, shape)), axis
            nodes, axis = nodes_and_axis
            return self._record(self._builder.add(nodes), batch_axis=axis)
        return None

    def _copied_per_part(self, call: Call, parts: int) -> str:
        """Add a call that processes every part of an image separately: stacked if possible, else one by one."""
        stacked = stack_parts(call, self._convert)
        if stacked:
            return self._builder.add(stacked)
        return self._unroll(replace(call, shape=(parts, *call.shape)), call.layer)

    def _record(self, node: str, parts: int = 1, batch_axis: int = 0) -> str:
        if parts > 1:
            self._parts[node] = parts
        if batch_axis:
            self._batch_axes[node] = batch_axis
        return node
