"""Inputs and outputs of a bundle of parts: tensors, which lie in no texture of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from glsl_infer.bundle import json_fields
from glsl_infer.bundle.ends_json import PICTURE_CHANNELS, steps_from_json, steps_to_json
from glsl_infer.bundle.format_constants import INPUT_KINDS, MAX_RESULT, MAX_VALUES, PURPOSES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import FITS, PICTURE, Input, Output
from glsl_infer.errors import BundleError
from glsl_infer.graph import host_steps
from glsl_infer.graph.node import Shape
from glsl_infer.program.layout import FeatureMap, FixedPoint
from glsl_infer.support.records import dataclass

TENSOR_RANKS = (1, 3)
"""Axes of an input: a vector, a map or a picture."""


@dataclass(frozen=True)
class TensorOutput(Output):
    """A result made of tensors; ``values`` is empty, for they lie in textures of parts, or in none.

    Attributes:
        tensors: what the host steps begin with.
        shapes: of these; they follow from the parts.
    """

    tensors: tuple[str, ...] = ()
    shapes: tuple[Shape, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return host_steps.shape_of(self.steps, self.shapes)


def input_value(
    shape: Shape, scales: Sequence[float] = (1.0,), zeros: Sequence[float] = (0.0,)
) -> FeatureMap | FixedPoint:
    """Return what describes an input of a bundle of parts: its shape and what a picture's bytes mean, without a place.

    Args:
        shape: (length,), or (height, width, channels).
        scales: of a picture; see ``program.layout.Range``.
        zeros: of a picture.
    """
    if len(shape) == 1:
        return FixedPoint("", 0, shape[0], 1.0)
    height, width, channels = shape
    return FeatureMap(height, width, channels, 0, (), tuple(scales), tuple(zeros))


def input_to_json(entry: Input) -> dict[str, Any]:
    """Return an input as JSON data."""
    data: dict[str, Any] = {"name": entry.name, "kind": entry.kind}
    if entry.fit is None:
        return {**data, "shape": list(entry.shape)}
    assert isinstance(entry.value, FeatureMap)
    meaning = {"scales": list(entry.value.scales), "zeros": list(entry.value.zeros)}
    return {**data, "fit": entry.fit, "shape": list(entry.shape), **meaning}


def input_from_json(data: Any, where: str) -> Input:
    """Read an input.

    Raises:
        BundleError: it does not follow the format.
    """
    fields = Fields(data, where)
    name, kind = fields.text("name"), fields.text("kind", one_of=INPUT_KINDS)
    sizes = fields.items("shape")
    shape = tuple(json_fields.integer(size, f"{where}: 'shape'", 1, MAX_RESULT) for size in sizes)
    if len(shape) not in TENSOR_RANKS or math.prod(shape) > MAX_RESULT:
        raise BundleError(f"{where}: shape {shape}; an input is a vector or a map of at most {MAX_RESULT} numbers")
    if kind != PICTURE:
        fields.done()
        return Input(name, kind, input_value(shape))
    fit = fields.text("fit", one_of=FITS)
    scales, zeros = (
        tuple(json_fields.number(number, f"{where}: '{key}'") for number in fields.items(key))
        for key in ("scales", "zeros")
    )
    fields.done()
    if len(shape) != 3 or shape[2] not in PICTURE_CHANNELS:
        raise BundleError(f"{where}: a picture of shape {shape}; it has a height, a width, and 1, 3 or 4 channels")
    if 0.0 in scales or any(len(numbers) not in (1, shape[2]) for numbers in (scales, zeros)):
        raise BundleError(f"{where}: scales {scales} and zeros {zeros}; give one, or one a channel, and no scale of 0")
    return Input(name, kind, input_value(shape, scales, zeros), fit)


def output_to_json(entry: TensorOutput) -> dict[str, Any]:
    """Return an output as JSON data."""
    return {
        "name": entry.name,
        "purpose": entry.purpose,
        "tensors": list(entry.tensors),
        "steps": steps_to_json(entry.steps),
    }


def output_from_json(data: Any, where: str) -> TensorOutput:
    """Read an output; its tensors' shapes are not known yet.

    Raises:
        BundleError: it does not follow the format.
    """
    fields = Fields(data, where)
    name, purpose = fields.text("name"), fields.text("purpose", one_of=PURPOSES)
    tensors = fields.texts("tensors")
    if not 1 <= len(tensors) <= MAX_VALUES:
        raise BundleError(f"{where}: {len(tensors)} tensors; an output has 1 to {MAX_VALUES}")
    output = TensorOutput(name, purpose, (), steps_from_json(fields.items("steps"), where), tensors)
    fields.done()
    return output
