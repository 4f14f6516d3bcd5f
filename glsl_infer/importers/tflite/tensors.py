"""Operators on tensors of any rank -> nodes for the CPU, for inputs or outputs that textures cannot store.

Axes are counted from the last, because a node and its tensor in the file share the trailing axes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np

from glsl_infer.cpu.custom import CUSTOM as CUSTOM_OPERATOR
from glsl_infer.graph import Node
from glsl_infer.importers.shared.places import placed
from glsl_infer.importers.tflite import arithmetic
from glsl_infer.importers.tflite.batches import BATCHES
from glsl_infer.importers.tflite.call import Call, Converter
from glsl_infer.importers.tflite.choices import CHOICES, gathered
from glsl_infer.importers.tflite.detections import DETECTIONS
from glsl_infer.importers.tflite.geometry import split
from glsl_infer.importers.tflite.sequences import SEQUENCES
from glsl_infer.importers.tflite.tensor_joins import MOST_PARTS, concat, matmul
from glsl_infer.importers.tflite.written import PLACES


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
    return call.activated([*nodes, Node(name, "linear", (source,), {}, {"kernel": kernel, "bias": bias})])


def _gather(call: Call) -> list[Node]:
    """Convert a GATHER of constant indices: runs of neighbours are sliced, and concatenated."""
    if len(call.constants) > 1 and call.constants[1] is None:
        return gathered(call)
    axis, shape = call.axis(call.option("Axis", 0)), call.shapes[0]
    indices = call.integers(1, "its indices")
    if not indices or not all(-shape[axis] <= index < shape[axis] for index in indices):
        raise call.refused(f"{indices[:8]} of {shape[axis]}", "give indices that there are")
    runs: list[list[int]] = []
    for index in (index % shape[axis] for index in indices):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    if len(runs) > MOST_PARTS:
        raise call.refused(f"{len(runs)} separate parts", f"take at most {MOST_PARTS}")
    names = [call.name, *(f"{call.name}-{number}" for number in range(1, len(runs)))]
    nodes = []
    for name, run in zip(names, runs):
        begin, size = [0] * len(shape), list(shape)
        begin[axis], size[axis] = run[0], len(run)
        nodes.append(Node(name, "tensor_slice", call.inputs[:1], {"begin": tuple(begin), "size": tuple(size)}))
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
        f"constant{place}": np.asarray(value, np.float32)
        for place, value in enumerate(call.constants)
        if value is not None
    }
    return [Node(call.name, CUSTOM_OPERATOR, call.inputs, attrs, weights)]


TENSORS: Mapping[str, Converter] = {
    **arithmetic.ON_CPU,
    **BATCHES,
    **CHOICES,
    **DETECTIONS,
    **SEQUENCES,
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), _argmax),
    "BATCH_MATMUL": matmul,
    PLACES: lambda call: placed(call.name, call.inputs[0], call.shapes[0], call.option("Places")[call.output]),
    "CONCATENATION": lambda call: concat(call, call.axis(call.option("Axis"))),
    "FULLY_CONNECTED": _dense,
    "GATHER": _gather,
    "PACK": _packed,
    "TOPK_V2": _top_k,
    "UNPACK": split,
}
"""Converters by the operator's name in the schema."""
