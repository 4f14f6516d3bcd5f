"""Multiplication and addition of one constant per index of any axis, as in BatchNormalization(axis=1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.core.constants import beside_map
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.tensor_numbers import Chain, axis


def rescaled(call: Call, given: Any, factor: NDArray[np.float64], added: NDArray[np.float64]) -> list[Node]:
    """Return the nodes of ``x * factor + added``, both constants along an axis in Keras' count.

    Along rows or columns of a map they become maps of constants. For a tensor of another rank the CPU computes it.

    Raises:
        ModelError: the axis is the batch axis, or does not exist.
    """
    over, rank = axis(call, given), len(call.shapes[0])
    if over == rank - 1 or factor.size == 1:
        attrs = {"scales": tuple(factor.tolist()), "offsets": tuple(added.tolist())}
        return [call.node("rescaling", attrs)]
    shape = [-1 if place == over else 1 for place in range(rank)]
    scales, offsets = factor.reshape(shape), added.reshape(shape)
    if rank == 3:
        nodes = beside_map(call.name, call.inputs[0], call.shapes[0], "multiply", scales)
        behind = replace(call, name=f"{call.name}-offsets", inputs=(nodes[-1].name,))
        return [*nodes, *beside_map(behind.name, behind.inputs[0], call.shapes[0], "add", offsets)]
    made = Chain(call)
    made.add("tensor_binary", {"operation": "multiply"}, constant=scales.astype(np.float32))
    made.add("tensor_binary", {"operation": "add"}, constant=offsets.astype(np.float32))
    return made.nodes
