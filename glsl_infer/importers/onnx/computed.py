"""Operators on constants that ``folding`` does not have: converted to nodes, and computed by the nodes' NumPy code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.graph import Graph, GraphOutput, Node, reference
from glsl_infer.importers.core.builder import GraphBuilder
from glsl_infer.importers.core.folding import MISFITS
from glsl_infer.importers.onnx import types
from glsl_infer.importers.onnx.call import Call, Operand
from glsl_infer.importers.onnx.model import Numbers, Operator
from glsl_infer.importers.onnx.nodes import Nodes
from glsl_infer.importers.onnx.operators import convert
from glsl_infer.importers.onnx.view import View, fresh


def computed(
    name: str, operator: Operator, operands: Sequence[Operand], kinds: Sequence[str], most: int
) -> list[Numbers]:
    """Return the results of an operator on constants.

    Args:
        name: of the operator, for messages.
        operator: the operator of the file.
        operands: its inputs: arrays, or None if left out.
        kinds: the types of its inputs.
        most: largest number of bytes of all intermediate results.

    Raises:
        ModelError: the operator is not supported on any of its inputs, or a result is too large.
    """
    first: ModelError | None = None
    for index, value in enumerate(operands):
        if isinstance(value, np.ndarray) and value.size:
            try:
                return _by_nodes(name, operator, operands, kinds, index, most)
            except ModelError as refusal:
                first = first or refusal
            except MISFITS as error:
                what = f"{operator.kind} of constants that do not fit ({str(error)[:120]})"
                first = first or ModelError.layer(name, what, "the file is damaged; get it anew")
    advice = "export the model with its constants folded, or with another opset"
    raise first or ModelError.layer(name, f"{operator.kind}: of constants alone", advice)


def _by_nodes(
    name: str, operator: Operator, operands: Sequence[Operand], kinds: Sequence[str], index: int, most: int
) -> list[Numbers]:
    """Return the results of an operator of which one input is an input of the nodes, and the others are constants."""
    value = np.asarray(operands[index])
    builder = GraphBuilder()
    builder.free_name(name)
    source = builder.free_name(f"{name}-constant")
    builder.add([Node(source, "input_fixed", (), {"shape": (value.size,)})])
    inputs = [fresh(source, value.shape) if position == index else operand for position, operand in enumerate(operands)]
    named = replace(operator, outputs=tuple(filter(None, operator.outputs)))
    call = Call(named, inputs, Nodes(builder, name), kinds)
    with np.errstate(all="ignore"):
        views = convert(call)
    if sum(math.prod(shape) for shape in builder.shapes.values()) * value.itemsize > most:
        raise call.refused("of constants, with more numbers than there is room for", "export it with its result")
    outputs = list(dict.fromkeys(view.node for view in views if isinstance(view, View)))
    graph = Graph(operator.kind, builder.nodes, [GraphOutput(node, (node,)) for node in outputs])
    flat = np.asarray(value.reshape(-1), np.float32)
    values = dict(reference.all_values(graph, {source: flat}, mode="float", names=set(outputs)))
    results = [view.as_in_file(np.asarray(values[view.node])) if isinstance(view, View) else view for view in views]
    return [np.asarray(result, kind) for result, kind in zip(results, types.results(operator, kinds))]
