"""Operators on tensors of any rank -> nodes for the CPU, for inputs or outputs that textures cannot store.

Axes are counted from the last, because a node and its tensor in the file share the trailing axes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from glsl_infer.cpu.custom import CUSTOM as CUSTOM_OPERATOR
from glsl_infer.graph import Node
from glsl_infer.graph.activations import activation
from glsl_infer.importers.core import elementwise
from glsl_infer.importers.shared.places import placed
from glsl_infer.importers.tflite import arithmetic
from glsl_infer.importers.tflite.activations import text_of
from glsl_infer.importers.tflite.batches import BATCHES
from glsl_infer.importers.tflite.call import Call, Converter
from glsl_infer.importers.tflite.choices import CHOICES, COMPARED, gathered, is_whole
from glsl_infer.importers.tflite.detections import DETECTIONS
from glsl_infer.importers.tflite.evaluate import slices_of
from glsl_infer.importers.tflite.sequences import SEQUENCES
from glsl_infer.importers.tflite.tensor_joins import MOST_PARTS, concat, matmul
from glsl_infer.importers.tflite.written import PLACES

OPERATIONS = {**arithmetic.OPERATIONS, **COMPARED, "POW": "power"}
_REDUCTIONS = {"MEAN": "mean", "SUM": "sum", "REDUCE_MAX": "max", "REDUCE_MIN": "min"}


def _axis(call: Call, axis: int, place: int = 0) -> int:
    """Return an axis of a file's input as a negative axis of the node."""
    tensor = call.tensors[place]
    rank = 0 if tensor is None else len(tensor.shape)
    own = axis - rank if axis >= 0 else axis
    if not -len(call.shapes[0]) <= own < 0 or rank < 1:
        raise call.refused(f"along axis {axis}", "the batch stays as it is")
    return own


def _activated(call: Call, nodes: list[Node]) -> list[Node]:
    return call.activated(nodes)


def _reshape(call: Call) -> list[Node]:
    return [Node(call.name, "reshape", call.inputs[:1], {"shape": call.shape})]


def _transpose(call: Call) -> list[Node]:
    given, order = call.given, call.integers(1, "an order of axes")
    rank = len(call.shapes[0])
    gone = len(given) - rank
    if sorted(axis % len(given) for axis in order) != list(range(len(given))) or (gone > 0 and order[0] % len(given)):
        raise call.refused(f"axes in the order {tuple(order)} of {given}", "the batch stays as it is")
    axes = [axis % len(given) - gone for axis in order[max(gone, 0) :]]
    return [call.node("tensor_transpose", {"axes": (*range(rank - len(axes)), *axes)})]


def _binary(call: Call) -> list[Node]:
    attrs = {"operation": OPERATIONS[call.kind]}
    if call.kind == "DIV" and is_whole(call, 0):
        attrs = {"operation": "whole_divide"}
    if len(call.constants) != 2 or None in call.tensors or not call.inputs:
        raise call.refused(f"of {len(call.constants)} tensors", "give it two")
    if len(call.inputs) == 2:
        return _activated(call, [call.node("tensor_binary", attrs)])
    first = call.constants[0] is not None
    constant: NDArray[np.float32] = np.asarray(call.constants[0 if first else 1], np.float32)
    rank = len(call.shapes[0])
    if constant.ndim > rank:
        if any(size != 1 for size in constant.shape[: constant.ndim - rank]):
            raise call.refused(f"a constant of shape {constant.shape}", "give it no batch")
        constant = constant.reshape(constant.shape[constant.ndim - rank :])
    constant = constant.reshape(constant.shape or (1,))
    return _activated(call, [call.node("tensor_binary", {**attrs, "constant_first": first}, constant=constant)])


def _negated(call: Call) -> list[Node]:
    less: NDArray[np.float32] = np.asarray([-1.0], np.float32)
    return [Node(call.name, "tensor_binary", call.inputs[:1], {"operation": "multiply"}, {"constant": less})]


def _function(call: Call) -> list[Node]:
    text = text_of(call)
    if text == "relu_n1_to_1":
        text = "clip(-1.0,1.0)"
    return [Node(call.name, "tensor_function", call.inputs[:1], {"function": activation(text).text})]


def _softmax(call: Call) -> list[Node]:
    nodes: list[Node] = []
    beta = float(call.option("Beta", 1.0)) if call.kind == "SOFTMAX" else 1.0
    source = call.inputs[0]
    if beta != 1.0:
        scale: NDArray[np.float32] = np.asarray([beta], np.float32)
        nodes = [Node(call.name, "tensor_binary", (source,), {"operation": "multiply"}, {"constant": scale})]
        source = call.name
    name = f"{call.name}-softmax" if nodes else call.name
    nodes.append(Node(name, "tensor_softmax", (source,), {"axis": -1}))
    if call.kind == "LOG_SOFTMAX":
        nodes.append(Node(f"{call.name}-log", "tensor_function", (nodes[-1].name,), {"function": "log"}))
    return nodes


def _reduced(call: Call) -> list[Node]:
    axes = tuple(sorted({_axis(call, axis) for axis in call.integers(1, "axes")}))
    attrs = {"reduction": _REDUCTIONS[call.kind], "axes": axes, "keep": bool(call.option("KeepDims", False))}
    return [Node(call.name, "tensor_reduce", call.inputs[:1], attrs)]


def _dense(call: Call) -> list[Node]:
    weights = call.weights(1, "weights", 2)
    kernel, bias = np.ascontiguousarray(weights.T), call.bias(2, weights.shape[0])
    nodes: list[Node] = []
    source = call.inputs[0]
    if call.shapes[0][-1] != len(kernel):
        nodes = [
            Node(
                call.name,
                "reshape",
                (source,),
                {"shape": (-(-int(np.prod(call.shapes[0])) // len(kernel)), len(kernel))},
            )
        ]
        source = call.name
    name = f"{call.name}-sum" if nodes else call.name
    return _activated(call, [*nodes, Node(name, "linear", (source,), {}, {"kernel": kernel, "bias": bias})])


def _cut(call: Call, name: str, axis: int, taken: range) -> Node:
    """Return the node of a slice along an axis. The range must have a step of 1."""
    shape = call.shapes[0]
    if len(taken) < 1 or taken.step != 1:
        raise call.refused(f"{taken} of an axis of {shape[axis]}", "take neighbours, one at least")
    begin, size = [0] * len(shape), list(shape)
    begin[axis], size[axis] = taken.start, len(taken)
    return Node(name, "tensor_slice", call.inputs[:1], {"begin": tuple(begin), "size": tuple(size)})


def _sliced(call: Call) -> list[Node]:
    given, shape = call.given, call.shapes[0]
    if call.kind == "SLICE":
        ends = zip(given, call.integers(1, "where it begins"), call.integers(2, "its size"))
        taken = [range(length)[begin : None if size == -1 else begin + size] for length, begin, size in ends]
    else:
        operands = [call.constant(place, "its ends") for place in (1, 2, 3)]
        taken, _ = slices_of(given, operands, call.operator.options)
    own = [range(1)] * max(len(shape) - len(taken), 0) + taken[max(len(taken) - len(shape), 0) :]
    if len(own) != len(shape) or any(len(part) < 1 for part in own):
        raise call.refused(f"{taken} of {given}", "take one number at least")
    attrs = {"begin": tuple(part.start for part in own), "size": tuple(map(len, own))}
    if any(part.step != 1 for part in own):
        attrs["strides"] = tuple(part.step for part in own)
    return [Node(call.name, "tensor_slice", call.inputs[:1], attrs)]


def _split(call: Call) -> list[Node]:
    if call.kind == "UNPACK":
        axis, sizes = _axis(call, call.option("Axis", 0)), []
        sizes = [1] * call.shapes[0][axis]
    elif call.kind == "SPLIT":
        axis, count = _axis(call, call.integers(0, "an axis")[0], 1), call.option("NumSplits")
        if not 0 < count <= call.shapes[0][axis]:
            raise call.refused(f"{call.shapes[0]} into {count} parts", "give one part or more, of one number at least")
        sizes = [call.shapes[0][axis] // count] * count
    else:
        axis, sizes = _axis(call, call.integers(2, "an axis")[0]), call.integers(1, "its sizes")
        sizes = [call.shapes[0][axis] - sum(sizes) - 1 if size == -1 else size for size in sizes]
    if call.output >= len(sizes) or sum(sizes) != call.shapes[0][axis]:
        raise call.refused(f"{call.shapes[0]} into {sizes[:8]}", "give sizes that fit")
    begin = sum(sizes[: call.output])
    return [_cut(call, call.name, axis, range(begin, begin + sizes[call.output]))]


def _gather(call: Call) -> list[Node]:
    if len(call.constants) > 1 and call.constants[1] is None:
        return gathered(call)
    axis = _axis(call, call.option("Axis", 0))
    indices = call.integers(1, "its indices")
    length = call.shapes[0][axis]
    if not indices or not all(-length <= index < length for index in indices):
        raise call.refused(f"{indices[:8]} of {length}", "give indices that there are")
    runs: list[list[int]] = []
    for index in (index % length for index in indices):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    if len(runs) > MOST_PARTS:
        raise call.refused(f"{len(runs)} separate parts", f"take at most {MOST_PARTS}")
    names = [call.name, *(f"{call.name}-{number}" for number in range(1, len(runs)))]
    nodes = [_cut(call, name, axis, range(run[0], run[-1] + 1)) for name, run in zip(names, runs)]
    if len(nodes) > 1:
        nodes.append(Node(f"{call.name}-joined", "tensor_concat", tuple(names), {"axis": axis}))
    return nodes


def _packed(call: Call) -> list[Node]:
    rank = len(call.tensor.shape)
    axis = call.option("Axis", 0) % rank
    if len(call.inputs) != len(call.constants) or not 2 <= len(call.inputs) <= MOST_PARTS:
        raise call.refused("with a constant", "join tensors that the network computes")
    wide = tuple(1 if place == axis else size for place, size in enumerate(call.tensor.shape))
    inner = wide[1:] if wide[0] == 1 and axis else wide
    nodes = [
        Node(call.name if not number else f"{call.name}-{number}", "reshape", (source,), {"shape": inner})
        for number, source in enumerate(call.inputs)
    ]
    joined = {"axis": axis - rank}
    return [*nodes, Node(f"{call.name}-joined", "tensor_concat", tuple(node.name for node in nodes), joined)]


def _argmax(call: Call) -> list[Node]:
    axis = _axis(call, call.integers(1, "an axis")[0])
    if call.kind == "ARG_MAX":
        return [Node(call.name, "tensor_argmax", call.inputs[:1], {"axis": axis})]
    return [*_negated(call), Node(f"{call.name}-first", "tensor_argmax", (call.name,), {"axis": axis})]


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
        f"constant{place}": np.asarray(value, np.float32)
        for place, value in enumerate(call.constants)
        if value is not None
    }
    return [Node(call.name, CUSTOM_OPERATOR, call.inputs, attrs, weights)]


_FUNCTIONS = (*elementwise.activations(elementwise.TFLITE), "ACTIVATION", "GELU", "LEAKY_RELU", "RELU_N1_TO_1")

TENSORS: Mapping[str, Converter] = {
    **BATCHES,
    **CHOICES,
    **DETECTIONS,
    **SEQUENCES,
    **dict.fromkeys(OPERATIONS, _binary),
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(_REDUCTIONS, _reduced),
    **dict.fromkeys(("EXPAND_DIMS", "RESHAPE", "SQUEEZE"), _reshape),
    **dict.fromkeys(("SLICE", "STRIDED_SLICE"), _sliced),
    **dict.fromkeys(("SPLIT", "SPLIT_V", "UNPACK"), _split),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _argmax),
    **dict.fromkeys(("LOG_SOFTMAX", "SOFTMAX"), _softmax),
    **dict.fromkeys(("DEQUANTIZE", "QUANTIZE"), lambda call: [call.node("identity")]),
    "BATCH_MATMUL": matmul,
    PLACES: lambda call: placed(call.name, call.inputs[0], call.shapes[0], call.option("Places")[call.output]),
    "CONCATENATION": lambda call: concat(call, _axis(call, call.option("Axis"))),
    "FULLY_CONNECTED": _dense,
    "GATHER": _gather,
    "NEG": _negated,
    "PACK": _packed,
    "TOPK_V2": _top_k,
    "TRANSPOSE": _transpose,
}
"""Converters by the operator's name in the schema."""
