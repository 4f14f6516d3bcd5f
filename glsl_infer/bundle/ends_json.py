"""Inputs and outputs of a manifest as JSON, both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glsl_infer.bundle.format_constants import HOST_STEPS, INPUT_KINDS, MAX_STEPS, MAX_VALUES, PURPOSES, RANGES
from glsl_infer.bundle.json_fields import Fields
from glsl_infer.bundle.manifest import CLASSES, FITS, IMAGE, MASK, PICTURE, Input, Output
from glsl_infer.bundle.values_json import end_from_json, value_to_json
from glsl_infer.errors import BundleError
from glsl_infer.graph.host_steps import ROWS, HostStep
from glsl_infer.program.layout import FeatureMap

PICTURE_CHANNELS = (1, 3, 4)
"""Channels of a picture that a runner uploads: grey, colour, colour with alpha."""


def input_to_json(entry: Input) -> dict[str, Any]:
    """Return an input as JSON data."""
    fit = {} if entry.fit is None else {"fit": entry.fit}
    return {"name": entry.name, "kind": entry.kind, **fit, "value": value_to_json(entry.value)}


def input_from_json(data: Any, where: str) -> Input:
    """Read an input.

    Raises:
        BundleError: it does not follow the format.
    """
    fields = Fields(data, where)
    name, kind = fields.text("name"), fields.text("kind", one_of=INPUT_KINDS)
    fit = fields.text("fit", one_of=FITS) if kind == PICTURE else None
    value = end_from_json(fields.any("value"), f"{where}.value")
    fields.done()
    if kind == PICTURE:
        if not isinstance(value, FeatureMap) or len(value.views) != 1 or value.channels not in PICTURE_CHANNELS:
            raise BundleError(f"{where}: a picture is a feature map of 1, 3 or 4 channels with 1 view")
        if value.channels != 4 and value.gutter:
            raise BundleError(f"{where}: a picture of {value.channels} channels has a gutter of {value.gutter}, not 0")
    return Input(name, kind, value, fit)


def output_to_json(entry: Output) -> dict[str, Any]:
    """Return an output as JSON data."""
    return {
        "name": entry.name,
        "purpose": entry.purpose,
        "values": [value_to_json(value) for value in entry.values],
        "steps": steps_to_json(entry.steps),
    }


def output_from_json(data: Any, where: str) -> Output:
    """Read an output.

    Raises:
        BundleError: it does not follow the format, or its steps and its purpose do not fit its values.
    """
    fields = Fields(data, where)
    name, purpose = fields.text("name"), fields.text("purpose", one_of=PURPOSES)
    entries = fields.items("values")
    if not 1 <= len(entries) <= MAX_VALUES:
        raise BundleError(f"{where}: {len(entries)} values; an output has 1 to {MAX_VALUES}")
    values = tuple(end_from_json(value, f"{where}.values[{i}]") for i, value in enumerate(entries))
    output = Output(name, purpose, values, steps_from_json(fields.items("steps"), where))
    fields.done()
    check_purpose(output, where, images=[isinstance(value, FeatureMap) for value in values])
    return output


def steps_to_json(steps: tuple[HostStep, ...]) -> list[dict[str, Any]]:
    """Return host steps as JSON data."""
    return [{"step": step.step, **({"columns": step.columns} if step.step == ROWS else {})} for step in steps]


def steps_from_json(entries: list[Any], where: str) -> tuple[HostStep, ...]:
    """Read host steps; ``where`` names their output.

    Raises:
        BundleError: an unknown step, or too many.
    """
    if len(entries) > MAX_STEPS:
        raise BundleError(f"{where}: {len(entries)} steps; an output has at most {MAX_STEPS}")
    steps = []
    for i, entry in enumerate(entries):
        fields = Fields(entry, f"{where}.steps[{i}]")
        name = fields.text("step", one_of=HOST_STEPS)
        steps.append(HostStep(name, fields.integer("columns", *RANGES["columns"]) if name == ROWS else 0))
        fields.done()
    return tuple(steps)


def check_purpose(output: Output, where: str, *, images: Sequence[bool]) -> None:
    """Refuse an output that is not what its purpose says.

    Args:
        output: the output.
        where: names it in messages.
        images: whether each of its values may be an image.

    Raises:
        BundleError: its steps or its purpose do not fit its values.
    """
    try:
        shape = output.shape
    except ValueError as error:
        raise BundleError(f"{where}: {error}") from None
    if output.purpose == CLASSES and len(shape) != 1:
        raise BundleError(f"{where}: the result has shape {shape}; '{CLASSES}' need a vector")
    if output.purpose == MASK and len(shape) not in (2, 3):
        raise BundleError(
            f"{where}: the result has shape {shape}; a '{MASK}' is (height, width) or (height, width, channels)"
        )
    if output.purpose == IMAGE and (list(images) != [True] or output.steps):
        raise BundleError(f"{where}: an '{IMAGE}' is one 8-bit feature map without steps")
