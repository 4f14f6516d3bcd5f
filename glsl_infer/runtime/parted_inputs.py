"""Inputs of a bundle with parts: checked by name and shape, and converted for parts on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from glsl_infer.bundle.manifest import PICTURE, Input, Manifest
from glsl_infer.errors import InputError
from glsl_infer.program.layout import FeatureMap
from glsl_infer.runtime.inputs import numbers_as
from glsl_infer.support.ndarray import NDArray

Tensors = dict[str, Any]
"""Results of inputs and parts so far, by name: arrays, and pictures in their original form."""


def checked_inputs(manifest: Manifest, inputs: Any) -> Tensors:
    """Return the value of each input, by name. The parts check the values further.

    Raises:
        InputError: an input is missing, or the shape of its values is wrong.
    """
    entries, outputs = manifest.inputs, manifest.outputs
    names = [entry.name for entry in entries]
    if not isinstance(inputs, Mapping):
        if len(names) != 1 or len(outputs) != 1:
            raise InputError(
                f"the model has the inputs {', '.join(names)} and the outputs "
                f"{', '.join(output.name for output in outputs)}; "
                "give a dict of inputs by name, and get one of outputs"
            )
        inputs = {names[0]: inputs}
    wrong = sorted({*names}.symmetric_difference(inputs))
    if wrong:
        what = f"'{wrong[0]}' is missing" if wrong[0] in names else f"there is no '{wrong[0]}'"
        raise InputError(f"inputs: {what}; the model reads {', '.join(names)}")
    shaped = {entry.name: numbers_as(entry, inputs[entry.name]) for entry in entries if entry.kind != PICTURE}
    return {**inputs, **shaped}


def numbers_of(entry: Input, given: Any) -> NDArray[np.float32]:
    """Return an input as a CPU part reads it; the pixels of a picture become the values that they represent."""
    if entry.kind != PICTURE:
        return np.asarray(given, np.float32)
    assert isinstance(entry.value, FeatureMap)
    pixels = np.asarray(given, np.float64)
    return (entry.value.scale_of * (pixels - entry.value.zero_of) / 255.0).astype(np.float32)
