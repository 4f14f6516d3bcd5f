"""The input of a converter: one operator of a file, and its input tensors, alone or in a common order of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from glsl_infer.errors import ModelError
from glsl_infer.graph import Shape
from glsl_infer.importers.core.folding import integer_list
from glsl_infer.importers.onnx import relayout
from glsl_infer.importers.onnx.model import Numbers, Operator
from glsl_infer.importers.onnx.nodes import MOST_NUMBERS, Nodes
from glsl_infer.importers.onnx.view import View, default_order, fresh

Operand = Union[View, Numbers, None]
"""An input of an operator: a computed tensor, a constant, or None if it is left out."""


class Call:
    """One operator and its inputs.

    Attributes:
        operator: the operator, as in the file.
        operands: its inputs, in the order of the file.
        nodes: factory for its nodes.
        declared: shape of its first output in the file, or None.
    """

    def __init__(
        self,
        operator: Operator,
        operands: Sequence[Operand],
        nodes: Nodes,
        kinds: Sequence[str] = (),
        declared: Shape | None = None,
    ) -> None:
        self.operator, self.operands, self.nodes = operator, tuple(operands), nodes
        self._kinds, self.declared = tuple(kinds), declared

    def of(self, *operands: Operand) -> Call:
        """Return the call with other inputs."""
        return Call(self.operator, operands, self.nodes, self._kinds)

    def type(self, index: int) -> str:
        """Return NumPy's name of the type of the input at ``index``."""
        return self._kinds[index] if index < len(self._kinds) else "float32"

    @property
    def kind(self) -> str:
        """The operator's type."""
        return self.operator.kind

    @property
    def opset(self) -> int:
        """The version of the operator's domain."""
        return self.operator.opset

    def refused(self, problem: str, advice: str) -> ModelError:
        """Return the error for an unsupported operator: the problem and the advice."""
        return ModelError.layer(self.nodes.name, f"{self.kind}: {problem}", advice)

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute. A tensor attribute is an array.

        Raises:
            ModelError: the attribute is missing and has no default.
        """
        value = self.operator.attributes.get(name, default)
        if value is None:
            raise self.refused(f"without its attribute {name}", "the file is damaged; convert the model anew")
        return value

    def has(self, index: int) -> bool:
        """Return whether the input at ``index`` is present."""
        return index < len(self.operands) and self.operands[index] is not None

    def view(self, index: int = 0) -> View:
        """Return the computed tensor of the input at ``index``.

        Raises:
            ModelError: the input is a constant, or is left out.
        """
        value = self.operands[index] if index < len(self.operands) else None
        if not isinstance(value, View):
            what = "a constant" if isinstance(value, np.ndarray) else "nothing"
            raise self.refused(f"{what} as its input {index + 1}", "give it a tensor that the network computes")
        return value

    @property
    def views(self) -> list[View]:
        """The computed tensors among its inputs."""
        return [value for value in self.operands if isinstance(value, View)]

    def is_constant(self, index: int) -> bool:
        """Return whether the input at ``index`` is a constant."""
        return index < len(self.operands) and isinstance(self.operands[index], np.ndarray)

    def constant(self, index: int, what: str) -> Numbers:
        """Return the constant of the input at ``index``.

        Raises:
            ModelError: the input is not a constant.
        """
        value = self.operands[index] if index < len(self.operands) else None
        if not isinstance(value, np.ndarray):
            raise self.refused(f"{what} that the network computes", f"{what} must be a constant of the file")
        return value

    def integers(self, index: int, what: str, attribute: str = "") -> list[int] | None:
        """Return integers from an attribute (old files) or from a constant (newer ones); None if left out."""
        if attribute and attribute in self.operator.attributes:
            value = self.operator.attributes[attribute]
            return [int(number) for number in (value if isinstance(value, tuple) else (value,))]
        if not self.has(index):
            return None
        return integer_list(self.constant(index, what))

    def number(self, index: int, what: str, attribute: str, default: float) -> float:
        """Return a scalar from an attribute, as in old files, or from a constant, as in newer ones."""
        if attribute and attribute in self.operator.attributes:
            return float(self.operator.attributes[attribute])
        if not self.has(index):
            return default
        value = self.constant(index, what)
        if value.size != 1:
            raise self.refused(f"{what} of shape {value.shape}", f"give {what} of one number")
        return float(value.reshape(-1)[0])

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis as an index from 0.

        Raises:
            ModelError: the axis is out of range.
        """
        if not -rank <= axis < rank:
            raise self.refused(f"axis {axis} of a tensor with {rank} axes", "the file is damaged; convert it anew")
        return axis % rank

    def finite(self, value: NDArray[Any], what: str) -> NDArray[np.float64]:
        """Return a constant as 64-bit floats.

        Raises:
            ModelError: some values are not finite.
        """
        values = np.asarray(value, np.float64)
        if not np.isfinite(values).all():
            raise self.refused(f"{what} that is not finite", "give finite numbers")
        return values

    def map(self, index: int = 0, *, lines: bool = False) -> tuple[str, Shape]:
        """Return the node and the shape (height, width, channels) of an input map.

        A tensor (1, channels, length) is a map of height 1.

        Args:
            index: the index of the input.
            lines: whether a tensor (batch, channels, length) can be a map whose rows are the batch, because the
                operator computes each row on its own.

        Raises:
            ModelError: the tensor is not a map, or its batch is not 1.
        """
        view = self.view(index)
        shape = view.shape
        if lines and len(shape) == 3:
            view = View(view.node, view.stored, ((), view.axes[1], view.axes[0], view.axes[2]))
            return relayout.as_map(self.nodes, view)
        if len(shape) not in (2, 3, 4) or shape[0] != 1:
            raise self.refused(
                f"on a tensor of shape {shape}", "it needs (1, channels, height, width): one image at a time"
            )
        return relayout.as_map(self.nodes, view if len(shape) == 4 else _spread(view))

    def mapped(self, node: str, rank: int = 4, *, lines: bool = False) -> View:
        """Return the tensor (1, channels, height, width) of a map, or one with 3 or 2 axes if ``rank`` is less.

        Args:
            node: that computes the map.
            rank: the number of axes.
            lines: whether the rows of a map are the batch of a tensor with 3 axes, as in ``map``.
        """
        height, width, channels = self.nodes.shape(node)
        view = fresh(node, (1, channels, height, width), (2, 3, 1))
        if rank == 4:
            return view
        if lines and rank == 3:
            return View(node, view.stored, (view.axes[2], view.axes[1], view.axes[3]))
        shorter = view.reshaped((1, channels, height * width) if rank == 3 else (1, channels))
        assert shorter is not None
        return shorter

    def reshaped(self, view: View, shape: Shape) -> View:
        """Return a tensor in another shape: as a view if its axes allow it, else after a move to the file's order."""
        if math.prod(shape) != view.size or any(size < 1 for size in shape):
            raise self.refused(f"from {view.shape} to {shape}", "the file is damaged; convert the model anew")
        result = view.reshaped(shape)
        if result is None:  # in the file's order, all axes merge into one
            result = relayout.ordered(self.nodes, view, range(len(view.axes))).reshaped(shape)
        assert result is not None
        return result

    def file_shape(self, shape: Sequence[int]) -> Shape:
        """Return a shape of the file after a check of its size.

        Raises:
            ModelError: the shape is too large or empty.
        """
        if math.prod(shape) > MOST_NUMBERS or any(size < 1 for size in shape):
            raise self.refused(f"a tensor of shape {tuple(shape)}", f"give 1 to {MOST_NUMBERS} numbers")
        return tuple(shape)


def _spread(view: View) -> View:
    """Return (batch, channels, length) as (batch, channels, 1, length), and add two axes to (batch, channels)."""
    missing = 4 - len(view.axes)
    return View(view.node, view.stored, (*view.axes[:2], *((),) * missing, *view.axes[2:]))


Converter = Callable[[Call], "list[View]"]
"""Function from a call to the outputs. Trailing outputs without a reader can be left out."""


FARTHEST = 3e38
"""Substitute for infinite values."""


def broadcast(
    call: Call, op: str, operands: Sequence[Operand], names: Sequence[str], part: str = "", **attrs: Any
) -> View:
    """Return an elementwise operator of several tensors, with NumPy's broadcasting.

    Args:
        call: the operator of the file.
        op: the operator of the node, on the CPU.
        operands: tensors and constants.
        names: names of the weights for the constants.
        part: suffix of the node's name.
        attrs: attributes of the node.
    """
    shapes = [value.shape for value in operands if value is not None]
    shape = call.file_shape(np.broadcast_shapes(*shapes))
    rank = len(shape)
    views = [of_rank(value, rank) for value in operands if isinstance(value, View)]
    order = _order(max(views, key=lambda view: view.size), shape)
    long = [axis for axis in order if shape[axis] > 1]
    sources, weights = [], {}
    for name, value in zip(names, operands):
        if isinstance(value, View):
            ordered = relayout.ordered(call.nodes, of_rank(value, rank), order)
            sources.append(call.nodes.shaped(ordered.node, tuple(ordered.shape[axis] for axis in long) or (1,)))
        else:
            constant = finite(value)
            constant = constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
            sizes = tuple(constant.shape[axis] for axis in long) or (1,)
            weights[name] = constant.transpose(order).reshape(sizes)
    return fresh(call.nodes.emit(op, *sources, part=part or op, weights=weights, **attrs), shape, order)


def _order(largest: View, shape: Shape) -> tuple[int, ...]:
    """Return the order of the axes of the largest tensor, followed by the other axes; or else the default order."""
    rank = len(shape)
    order = largest.order()
    if order is None or any(shape[axis] > 1 and axis not in order for axis in range(rank)):
        return default_order(rank)
    return (*order, *(axis for axis in range(rank) if axis not in order))


def of_rank(view: View, rank: int) -> View:
    """Return a tensor with leading axes of length 1."""
    return View(view.node, view.stored, ((),) * (rank - len(view.axes)) + view.axes)


def finite(value: Any) -> NDArray[np.float64]:
    """Return a constant with infinite values replaced by ``FARTHEST``, and NaN by 0."""
    values: NDArray[np.float64] = np.asarray(value, np.float64)
    return np.nan_to_num(values, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST).clip(-FARTHEST, FARTHEST)


def in_order(call: Call, view: View, order: Sequence[int], keep: Sequence[int] = ()) -> str:
    """Return a node with the axes of a tensor in an order, without those of length 1 that are not in ``keep``."""
    ordered = relayout.ordered(call.nodes, view, order)
    sizes = tuple(view.shape[axis] for axis in order if view.shape[axis] > 1 or axis in keep)
    return call.nodes.shaped(ordered.node, sizes or (1,))


def as_in_file(call: Call, operands: Sequence[Operand], names: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return nodes with all axes of the tensors in the file's order, and the constants by name."""
    sources, weights = [], {}
    for name, value in zip(names, operands):
        if isinstance(value, View):
            sources.append(relayout.in_file_order(call.nodes, value, value.shape or (1,)))
        else:
            weights[name] = finite(value)
    return sources, weights
