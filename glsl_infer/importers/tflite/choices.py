"""Converters of comparisons, selection, rounding, and gathers by computed indices: nodes for the CPU."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node, Shape
from glsl_infer.importers.core import elementwise, emit
from glsl_infer.importers.tflite.call import MOST_NUMBERS, Call, Converter

_FUNCTIONS = elementwise.functions(elementwise.TFLITE)

WHOLE = ("INT", "UINT", "BOOL")
"""Prefixes of the names of types without fractions."""

_SELECT_INPUTS, _GATHER_INPUTS = ("condition", "yes", "no"), ("table", "indices")


def source(call: Call, index: int, what: str) -> str:
    """Return the node of an operator's input at a place.

    Raises:
        ModelError: the input is a constant, or is left out.
    """
    if index >= len(call.constants) or call.constants[index] is not None or call.tensors[index] is None:
        raise call.refused(f"a constant as {what}", f"{what} must be what the network computes")
    return call.inputs[_before(call, index)]


def _before(call: Call, index: int) -> int:
    pairs = zip(call.constants[:index], call.tensors[:index])
    return sum(value is None and tensor is not None for value, tensor in pairs)


def shaped(name: str, read: str, shape: Shape) -> Node:
    """Return the node of a reshape."""
    return Node(name, "tensor_reshape", (read,), {"shape": shape or (1,)})


def is_whole(call: Call, index: int) -> bool:
    """Return whether the input at a place has an integer type and is not quantised."""
    tensor = call.tensors[index] if index < len(call.tensors) else None
    return tensor is not None and tensor.type.startswith(WHOLE) and tensor.quantization is None


def _function(call: Call) -> list[Node]:
    return [Node(call.name, "tensor_unary", call.inputs[:1], {"operation": _FUNCTIONS[call.kind]})]


def cast(call: Call) -> list[Node]:
    """Convert a CAST: to an integer it truncates, to a Boolean it gives 1 or 0; any other has no effect."""
    result_type = call.tensor.type
    if result_type == "BOOL" and not (call.tensors[0] and call.tensors[0].type == "BOOL"):
        nothing: NDArray[np.float32] = np.zeros(1, np.float32)
        return [Node(call.name, "tensor_binary", call.inputs[:1], {"operation": "not_equal"}, {"constant": nothing})]
    source = call.tensors[0]
    if source is not None and source.type.startswith("FLOAT") and result_type.startswith(WHOLE):
        return [Node(call.name, "tensor_unary", call.inputs[:1], {"operation": "truncate"})]
    return [call.node("identity")]


def _select(call: Call) -> list[Node]:
    if len(call.constants) != 3 or None in call.tensors:
        raise call.refused(f"of {len(call.constants)} tensors", "the file is damaged; give it three")
    weights = {}
    for name, value in zip(_SELECT_INPUTS, call.constants):
        if value is not None:
            array = np.nan_to_num(np.asarray(value, np.float32), posinf=3e38, neginf=-3e38)
            rank = max(map(len, call.shapes))
            while array.ndim > rank and array.shape[0] == 1:
                array = array[0]
            weights[name] = array.reshape(array.shape or (1,))
    return [Node(call.name, "select", call.inputs, {}, weights)]


def gathered(call: Call) -> list[Node]:
    """Convert a GATHER whose indices the network computes."""
    tensor = call.tensors[0]
    assert tensor is not None
    axis = int(call.option("Axis", 0)) % max(len(tensor.shape), 1)
    batch = int(call.option("BatchDims", 0))
    table, indices = _file_shape(call, 0), _file_shape(call, 1)
    if math.prod(table[:batch]) != 1:  # each row by its own indices, as in Keras' ``take_along_axis``
        if axis != batch or not len(table) == len(indices) == batch + 1 or table[:batch] != indices[:batch]:
            raise call.refused(f"of {table} by indices of {indices}", "take numbers of each row, or of one image")
        return _of_operands(call, "gather_elements", _GATHER_INPUTS, {"axis": batch})
    if call.constants[0] is None:
        return _of_operands(call, "gather", _GATHER_INPUTS, {"axis": axis})
    if axis:
        raise call.refused(f"of a constant along axis {axis}", "take its rows, axis 0")
    nodes = [shaped(call.name, source(call, 1, "indices"), (*indices[batch:], 1))]
    weights = {"table": np.asarray(call.constants[0], np.float32)}
    return [*nodes, Node(f"{call.name}-taken", "gather_points", (call.name,), {}, weights)]


def _of_operands(
    call: Call,
    op: str,
    names: Sequence[str],
    attrs: Mapping[str, Any],
    others: Mapping[str, NDArray[np.float32]] | None = None,
) -> list[Node]:
    """Return the nodes of an operator on the file's inputs, in their shapes in the file, and on other constants.

    Args:
        call: the operator of the file.
        op: the operator of the node.
        names: of its operands, which are the first inputs.
        attrs: its attributes.
        others: other constants, by name.
    """
    nodes, weights = list[Node](), dict(others or {})
    for index, name in enumerate(names):
        value = call.constants[index]
        if value is not None:
            weights[name] = np.asarray(value, np.float32)
            continue
        own = f"{call.name}-{name}" if nodes else call.name
        nodes.append(shaped(own, source(call, index, name), _file_shape(call, index)))
    read = tuple(node.name for node in nodes)
    return _with_file_shape(call, [*nodes, Node(f"{call.name}-taken", op, read, attrs, weights)])


def _scattered(call: Call) -> list[Node]:
    """Convert a SCATTER_ND: updates are added to a tensor of zeros."""
    shape = tuple(call.integers(2, "its shape"))
    if math.prod(shape) > MOST_NUMBERS or min(shape, default=0) < 1:
        raise call.refused(f"to a shape of {shape}", f"make 1 to {MOST_NUMBERS} numbers")
    zeros: NDArray[np.float32] = np.zeros(shape, np.float32)
    return _of_operands(call, "scatter", ("indices", "updates"), {"reduction": "add"}, {"table": zeros})


def _with_file_shape(call: Call, nodes: list[Node]) -> list[Node]:
    """Return nodes with a final reshape to the output's shape in the file."""
    return [*nodes, shaped(f"{call.name}-shape", nodes[-1].name, call.shape)]


def _file_shape(call: Call, index: int) -> Shape:
    """Return the shape of an operator's input, with the batch."""
    tensor = call.tensors[index]
    if tensor is None or tensor.free:
        raise call.refused("a tensor of unknown shape", "convert the model with fixed shapes")
    return tensor.shape or (1,)


def _summed(call: Call) -> list[Node]:
    (axis,) = call.integers(1, "an axis")
    rank = len(_file_shape(call, 0))
    attrs = {
        "axis": axis - rank if axis >= 0 else axis,
        "exclusive": bool(call.option("Exclusive", False)),
        "reverse": bool(call.option("Reverse", False)),
    }
    return [Node(call.name, "cumulative_sum", call.inputs[:1], attrs)]


def _one_hot(call: Call) -> list[Node]:
    (depth,) = call.integers(1, "how many classes")
    on, off = (float(call.constant(index, "a value").reshape(-1)[0]) for index in (2, 3))
    indices_shape = _file_shape(call, 0)
    axis = int(call.option("Axis", -1)) % (len(indices_shape) + 1)
    if not 1 <= depth <= 1 << 16:
        raise call.refused(f"{depth} classes", "give 1 to 65536")
    return _with_file_shape(call, emit.one_hot(call.name, call.inputs[0], indices_shape, depth, axis, off, on))


CHOICES: Mapping[str, Converter] = {
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(("SELECT", "SELECT_V2"), _select),
    "CAST": cast,
    "CUMSUM": _summed,
    "GATHER_ND": lambda call: _of_operands(call, "gather_points", _GATHER_INPUTS, {}),
    "ONE_HOT": _one_hot,
    "SCATTER_ND": _scattered,
}
"""Converters by the operator's name in the schema."""
