"""Keras operations -> nodes: ``x + y``, ``x / 127.5 - 1``, ``keras.ops.relu(x)`` and others on Keras tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from glsl_infer.errors import with_article
from glsl_infer.graph import Node
from glsl_infer.graph.activations import Activation, clipped, powers
from glsl_infer.importers.core.constants import with_constant
from glsl_infer.importers.keras import (
    activations,
    arithmetic,
    convolutions,
    geometry,
    moves,
    normalizations,
    reductions,
    resizes,
    tensor_fills,
)
from glsl_infer.importers.keras import converters as layers
from glsl_infer.importers.keras.arithmetic import binary
from glsl_infer.importers.keras.call import Call, Converter
from glsl_infer.importers.keras.weights import array, per_channel

RELU = clipped.relu()


def _arithmetic(operation: str, several: Converter) -> Converter:
    """Return a converter of an operation on a tensor and a constant. ``several`` converts the one on tensors."""

    def convert(call: Call) -> list[Node]:
        kind = type(call.layer).__name__
        if all(_is_tensor(argument) for argument in call.arguments):
            return several(call)
        if len(call.inputs) != 1 or len(call.arguments) != 2:
            raise call.refused(f"{with_article(kind)} of {len(call.arguments)} values", "give it two")
        first = not _is_tensor(call.arguments[0])
        given = call.arguments[0 if first else 1]
        value = np.asarray(given if isinstance(given, (int, float)) else array(given))
        try:
            return with_constant(call.name, call.inputs[0], call.shapes[0], operation, value, first=first)
        except ValueError:
            per_channel(call, given, "a constant")  # raises for a wrong shape
            raise call.refused(f"{with_article(kind)} by 0", "divide by another number") from None

    return convert


def _is_tensor(value: object) -> bool:
    return hasattr(value, "_keras_history")


def _negative(call: Call) -> list[Node]:
    return [call.node("rescaling", {"scales": (-1.0,), "offsets": (0.0,)})]


def _expm1(call: Call) -> list[Node]:
    less = Node(f"{call.name}-less", "rescaling", (call.name,), {"scales": (1.0,), "offsets": (-1.0,)})
    return [call.node("activation", {"function": "exponential"}), less]


def _log1p(call: Call) -> list[Node]:
    more = call.node("rescaling", {"scales": (1.0,), "offsets": (1.0,)})
    return [more, Node(f"{call.name}-log", "activation", (call.name,), {"function": "log"})]


def _cast(call: Call) -> list[Node]:
    if "float" not in str(call.layer.dtype):
        raise call.refused(f"a cast to {call.layer.dtype}", "numbers inside a network are floats")
    return [call.node("identity")]


def _limit(make: Callable[[float], Activation], several: Converter) -> Converter:
    """Return the converter of a maximum or a minimum: of several tensors, or of a tensor and a scalar."""

    def convert(call: Call) -> list[Node]:
        numbers = [argument for argument in call.arguments if isinstance(argument, (int, float))]
        if len(call.inputs) == 1 and len(numbers) == 1:
            return [call.node("activation", {"function": make(float(numbers[0])).text})]
        return several(call)

    return convert


def _reshape(call: Call) -> list[Node]:
    batch, *target = call.layer.newshape
    if batch not in (-1, None) or -1 in target:
        raise call.refused(
            f"a reshape to {tuple(call.layer.newshape)}", "use layers.Reshape, which leaves out the batch"
        )
    return layers.reshape(call, tuple(target))


OPERATIONS: Mapping[str, Converter] = {
    "Add": _arithmetic("add", arithmetic.add),
    "Subtract": _arithmetic("subtract", binary("subtract")),
    "Multiply": _arithmetic("multiply", binary("multiply")),
    "Divide": _arithmetic("divide", binary("divide")),
    "TrueDivide": _arithmetic("divide", binary("divide")),
    "Maximum": _limit(lambda low: powers.at_least(low) if low else RELU, binary("maximum")),
    "Minimum": _limit(powers.at_most, binary("minimum")),
    "Expm1": _expm1,
    "Log1p": _log1p,
    "Power": activations.power,
    "Cast": _cast,
    "Conv": convolutions.of_constants,
    "DepthwiseConv": convolutions.of_constants,
    "StopGradient": layers.identity,
    "GetItem": geometry.get_item,
    "Flip": geometry.flip,
    "Pad": geometry.pad,
    "Resize": resizes.resize,
    "SpaceToDepth": geometry.space_to_depth,
    "Split": geometry.split,
    "Transpose": geometry.transpose,
    "Negative": _negative,
    **activations.converters(activations.OPERATIONS),
    **reductions.OPERATIONS,
    **normalizations.OPERATIONS,
    "Softmax": layers.softmax,
    **moves.OPERATIONS,
    **tensor_fills.OPERATIONS,
    "MaxPool": layers.max_pool,
    "AveragePool": layers.average_pool,
    "DepthToSpace": layers.depth_to_space,
    "Reshape": _reshape,
}
"""Converters by class name."""
