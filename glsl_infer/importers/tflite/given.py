"""The user's sizes and constants for inputs of a file."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from glsl_infer.errors import ModelError
from glsl_infer.importers.shared.ends import Ends, by_name
from glsl_infer.importers.tflite.constants import TYPES
from glsl_infer.importers.tflite.model import Model, Tensor


def as_given(model: Model, ends: Ends) -> Model:
    """Return a file whose inputs have the shapes and constants in ``ends``. All other shapes follow from them.

    Raises:
        InputError: a shape or a constant is given for an unknown input.
        ModelError: a shape has another rank than the input, or a constant does not match the input.
    """
    if not ends.shapes and not ends.constants:
        return model
    tensors, names = list(model.tensors), [name for name, _ in model.inputs]
    constants = by_name("--constant", ends.constants, names)
    shapes = by_name("--input-shape", ends.shapes, [name for name in names if name not in constants])
    if shapes:
        for index in {index for operator in model.operators for index in operator.outputs if index >= 0}:
            tensors[index] = replace(tensors[index], free=tuple(range(len(tensors[index].shape))))
    for name, index in model.inputs:
        tensor = tensors[index]
        if name in shapes and len(shapes[name]) != len(tensor.shape):
            what = f"--input-shape {'x'.join(map(str, shapes[name]))} for an input of shape {tensor.shape}"
            raise ModelError.layer(name, what, f"give {len(tensor.shape)} sizes")
        if name in shapes:
            tensors[index] = replace(tensor, shape=tuple(shapes[name]), free=())
        if name in constants:
            tensors[index] = _constant(name, tensor, np.asarray(constants[name]))
    inputs = tuple((name, index) for name, index in model.inputs if name not in constants)
    return replace(model, tensors=tuple(tensors), inputs=inputs)


def _constant(name: str, tensor: Tensor, given: np.ndarray) -> Tensor:
    """Return an input as a constant: one value for all its elements, or a value for each."""
    shape = tuple(1 if axis in tensor.free else size for axis, size in enumerate(tensor.shape))
    kind = TYPES.get(tensor.type)
    if given.size not in (1, math.prod(shape)) or kind is None or tensor.quantization is not None:
        what = f"a constant of {given.size} numbers for the shape {shape} of type {tensor.type}"
        raise ModelError.layer(name, what, f"give one number, or {math.prod(shape)}")
    values = np.broadcast_to(given.reshape(-1), (math.prod(shape),)).astype(kind)
    return replace(tensor, shape=shape, free=(), data=memoryview(values.tobytes()))
