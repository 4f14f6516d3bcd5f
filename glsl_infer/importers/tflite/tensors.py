"""Converters of operators whose inputs or outputs textures cannot store: nodes for the CPU."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cpu.custom import CUSTOM as CUSTOM_OPERATOR
from glsl_infer.graph import Node
from glsl_infer.importers.core import emit
from glsl_infer.importers.core.moves import gathered
from glsl_infer.importers.tflite import arithmetic
from glsl_infer.importers.tflite.batches import BATCHES
from glsl_infer.importers.tflite.call import MOST_NUMBERS, Call, Converter
from glsl_infer.importers.tflite.choices import CHOICES
from glsl_infer.importers.tflite.detections import DETECTIONS
from glsl_infer.importers.tflite.geometry import gather, split
from glsl_infer.importers.tflite.rewrites import PLACES
from glsl_infer.importers.tflite.sequences import SEQUENCES

MOST_PARTS = 64
"""Largest number of concatenated tensors."""


def concat(call: Call, axis: int) -> list[Node]:
    """Convert a CONCATENATION along an axis, counted from the end: -1 is the last."""
    if len(call.inputs) > MOST_PARTS or len({len(shape) for shape in call.shapes}) != 1:
        raise call.refused(f"of {len(call.inputs)} tensors", f"join at most {MOST_PARTS} of one rank")
    if len(call.inputs) == len(call.constants):
        return call.activated([call.node("tensor_concat", {"axis": axis})])
    along = axis % len(call.shapes[0])
    return call.activated(emit.concatenated_with(call.name, call.inputs, call.shapes, call.constants, along))


def _by_matrices(call: Call, weights: NDArray[np.float32], first: bool, transposes: tuple[bool, bool]) -> list[Node]:
    """Return the nodes of a product with a different matrix for each row of a tensor: products, then their sums."""
    shape = call.shapes[0]
    while weights.ndim > len(shape) and weights.shape[0] == 1:
        weights = weights[0]
    if weights.ndim > len(shape):
        raise call.refused(f"of {shape} by a constant of shape {weights.shape}", "give it no more axes than the tensor")
    weights = weights.swapaxes(-1, -2) if transposes[0 if first else 1] else weights
    nodes: list[Node] = []
    if transposes[1 if first else 0]:
        order = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
        shape = tuple(shape[axis] for axis in order)
        nodes.append(call.node("tensor_transpose", {"axes": order}))
    constant = weights[..., None] if first else weights[..., None, :, :]
    longer = (*shape[:-2], 1, *shape[-2:]) if first else (*shape, 1)
    if math.prod(np.broadcast_shapes(constant.shape, longer)) > MOST_NUMBERS:
        raise call.refused(f"of {shape} by a constant of shape {weights.shape}", f"at most {MOST_NUMBERS} products")
    own = f"{call.name}-axes" if nodes else call.name
    nodes.append(Node(own, "tensor_reshape", (call.name,) if nodes else call.inputs[:1], {"shape": longer}))
    times = {"constant": np.ascontiguousarray(constant, np.float32)}
    nodes.append(Node(f"{call.name}-products", "tensor_binary", (own,), {"operation": "multiply"}, times))
    over = {"reduction": "sum", "axes": (len(shape) - 1,), "keep": False}
    return [*nodes, Node(f"{call.name}-sums", "tensor_reduce", (nodes[-1].name,), over)]


def matmul(call: Call) -> list[Node]:
    """Convert a BATCH_MATMUL of two tensors, or of a tensor and a constant matrix on either side."""
    transposes = bool(call.option("AdjX", False)), bool(call.option("AdjY", False))
    if len(call.inputs) == 2:
        if min(map(len, call.shapes)) < 2:
            raise call.refused(f"of {call.shapes[0]} and {call.shapes[1]}", "give two tensors of two axes or more")
        return [call.node("matmul", {"transpose_a": transposes[0], "transpose_b": transposes[1]})]
    first = call.constants[0] is not None
    weights = call.constant(0 if first else 1, "weights").astype(np.float32)
    weights = weights.reshape(weights.shape[-2:]) if weights.size == np.prod(weights.shape[-2:]) else weights
    if weights.ndim != 2:
        return _by_matrices(call, weights, first, transposes)
    if transposes[0] and not first:
        raise call.refused("of a transposed tensor and a constant", "transpose the constant and give it first")
    if first:  # the transpose of the product of the transposes
        matrix = weights.T if transposes[0] else weights
        return emit.matrix_times(call.name, call.inputs[0], len(call.shapes[0]), matrix, is_transposed=transposes[1])
    kernel = np.ascontiguousarray(weights.T if transposes[1] else weights)
    return [Node(call.name, "linear", call.inputs[:1], {}, {"kernel": kernel})]


def _packed(call: Call) -> list[Node]:
    rank = len(call.tensor.shape)
    axis = call.option("Axis", 0) % rank
    if len(call.inputs) != len(call.constants) or not 2 <= len(call.inputs) <= MOST_PARTS:
        raise call.refused("with a constant", "join tensors that the network computes")
    wide = tuple(1 if index == axis else size for index, size in enumerate(call.tensor.shape))
    inner = wide[1:] if wide[0] == 1 and axis else wide
    return emit.stacked(call.name, call.inputs, inner, axis - rank)


def _argmax(call: Call) -> list[Node]:
    axis = call.axis(call.integers(1, "an axis")[0])
    if call.kind == "ARG_MAX":
        return [Node(call.name, "tensor_argmax", call.inputs[:1], {"axis": axis})]
    return [*arithmetic.negated(call), Node(f"{call.name}-first", "tensor_argmax", (call.name,), {"axis": axis})]


def _top_k(call: Call) -> list[Node]:
    attrs = {"k": call.integers(1, "how many")[0], "result": ("values", "indices")[min(call.output, 1)]}
    return [Node(call.name, "top_k", call.inputs[:1], attrs)]


def custom(call: Call, function: str) -> list[Node]:
    """Convert a custom operator with a function from ``--operator``.

    The computed tensors are the positional arguments of the function. Its keyword arguments are the constants, named
    ``constant0`` and so on by their input index; ``options``, the operator's options in hexadecimal; and ``output``,
    the index of the required output.
    """
    settings = {"options": call.operator.custom_options.hex(), "output": call.output}
    attrs = {"calls": function, "shape": call.shape, "settings": json.dumps(settings)}
    weights = {
        f"constant{index}": np.asarray(value, np.float32)
        for index, value in enumerate(call.constants)
        if value is not None
    }
    return [Node(call.name, CUSTOM_OPERATOR, call.inputs, attrs, weights)]


TENSORS: Mapping[str, Converter] = {
    **BATCHES,
    **CHOICES,
    **DETECTIONS,
    **SEQUENCES,
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _argmax),
    "BATCH_MATMUL": matmul,
    PLACES: lambda call: gathered(call.name, call.inputs[0], call.shapes[0], call.option("Places")[call.output]),
    "CONCATENATION": lambda call: concat(call, call.axis(call.option("Axis"))),
    "GATHER": gather,
    "PACK": _packed,
    "TOPK_V2": _top_k,
    "UNPACK": split,
}
"""Converters by the operator's name in the schema."""
