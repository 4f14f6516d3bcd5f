"""Keras operations -> nodes: ``x + y``, ``x / 127.5 - 1``, ``keras.ops.relu(x)`` and others on Keras tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from glsl_infer.errors import with_article
from glsl_infer.graph import Node
from glsl_infer.importers.keras import activations
from glsl_infer.importers.keras import converters as layers
from glsl_infer.importers.keras.call import Call, Converter, per_channel

Constant = tuple[float, ...]


def _arithmetic(rescaling: Callable[[Constant, bool], tuple[Constant, Constant] | None]) -> Converter:
    """Return a converter of an operation on a tensor and a constant.

    ``rescaling`` gets the constant and whether it stands first, and returns (scales, offsets) or None.
    """

    def convert(call: Call) -> list[Node]:
        kind = type(call.layer).__name__
        if len(call.inputs) != 1 or len(call.arguments) != 2:
            raise call.refused(
                f"{with_article(kind)} of {len(call.inputs)} tensors", "of several tensors only the sum can be exported"
            )
        first = not _is_tensor(call.arguments[0])
        constant = per_channel(call, call.arguments[0 if first else 1], "a constant")
        found = rescaling(constant, first)
        if found is None:
            raise call.refused(f"{with_article(kind)} of a constant by a tensor", "divide the tensor by the constant")
        return [call.node("rescaling", {"scales": found[0], "offsets": found[1]})]

    return convert


def _is_tensor(value: object) -> bool:
    return hasattr(value, "_keras_history")


def _add(call: Call) -> list[Node]:
    return layers.add(call) if len(call.inputs) > 1 else _add_constant(call)


def _negative(call: Call) -> list[Node]:
    return [call.node("rescaling", {"scales": (-1.0,), "offsets": (0.0,)})]


def _reshape(call: Call) -> list[Node]:
    batch, *target = call.layer.newshape
    if batch not in (-1, None) or -1 in target:
        raise call.refused(
            f"a reshape to {tuple(call.layer.newshape)}", "use layers.Reshape, which leaves out the batch"
        )
    return layers.reshape(call, tuple(target))


def _divided(constant: Constant, first: bool) -> tuple[Constant, Constant] | None:
    if first or 0.0 in constant:
        return None
    return tuple((1.0 / np.asarray(constant)).tolist()), (0.0,)


def _subtracted(constant: Constant, first: bool) -> tuple[Constant, Constant]:
    return ((-1.0,), constant) if first else ((1.0,), tuple(-value for value in constant))


_add_constant = _arithmetic(lambda constant, first: ((1.0,), constant))

OPERATIONS: Mapping[str, Converter] = {
    "Add": _add,
    "Subtract": _arithmetic(_subtracted),
    "Multiply": _arithmetic(lambda constant, first: (constant, (0.0,))),
    "Divide": _arithmetic(_divided),
    "TrueDivide": _arithmetic(_divided),
    "Negative": _negative,
    **activations.converters(activations.OPERATIONS),
    "Softmax": layers.softmax,
    "Concatenate": layers.concatenate,
    "MaxPool": layers.max_pool,
    "AveragePool": layers.average_pool,
    "DepthToSpace": layers.depth_to_space,
    "Reshape": _reshape,
}
"""Converters by class name."""
