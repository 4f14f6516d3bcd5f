"""Keras models with open heights and widths, rebuilt from the same layers for given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glsl_infer.errors import InputError, ModelError
from glsl_infer.importers.keras.installed import keras
from glsl_infer.importers.shared.ends import by_name
from glsl_infer.support.near_names import did_you_mean

Sizes = Mapping[str, tuple[int, int]]
"""(height, width) of inputs, by name. The empty name selects all inputs with open sizes."""


def open_inputs(model: Any) -> list[str]:
    """Return the names of the input maps with open height or width."""
    return [tensor.name for tensor in model.inputs if len(tensor.shape) == 4 and None in tensor.shape[1:3]]


def with_sizes(model: Any, sizes: Sizes, shapes: Mapping[str, tuple[int, ...]] | None = None) -> Any:
    """Return a model with these input sizes; the model itself if none is given.

    Args:
        model: the Keras model.
        sizes: (height, width) of inputs with open sizes, by name.
        shapes: complete shapes of inputs with a batch of 1, by name. They replace the shapes of the model.

    Raises:
        InputError: a size for an unknown input, or one that contradicts a fixed size; a shape with another rank.
        ModelError: the layers cannot be called on such inputs.
    """
    names = [str(tensor.name) for tensor in model.inputs]
    whole = by_name("--input-shape", shapes or {}, names)
    for tensor in model.inputs:
        wanted = whole.get(tensor.name)
        if wanted is not None and (len(wanted) != len(tensor.shape) or wanted[0] != 1):
            raise InputError(
                f"--input-shape {'x'.join(map(str, wanted))}: input '{tensor.name}' has {len(tensor.shape)} axes; give "
                "a size for each, with a batch of 1"
            )
    unknown = [name for name in sizes if name and name not in names]
    if unknown:
        raise InputError(
            f"--input-size {unknown[0]}: the model has no such input{did_you_mean(unknown[0], names)}; it has "
            f"{', '.join(names)}"
        )
    free, chosen = open_inputs(model), dict[str, tuple[int, int]]()
    for tensor in model.inputs:
        size = sizes.get(tensor.name) or (sizes.get("") if tensor.name in free else None)
        if size is None or len(tensor.shape) != 4:
            continue
        if any(own not in (None, wanted) for own, wanted in zip(tensor.shape[1:3], size)):
            own = "x".join("any" if length is None else str(length) for length in tensor.shape[1:3])
            raise InputError(f"--input-size {size[0]}x{size[1]}: input '{tensor.name}' is {own}, and not free")
        if tensor.name in free:
            chosen[tensor.name] = size
    if sizes and not chosen and not whole:
        raise InputError("--input-size: no input of the model is a picture of free height and width; leave it out")
    if not chosen and not whole:
        return model
    installed = keras()
    given = [
        installed.Input(
            whole[tensor.name][1:] if tensor.name in whole else _filled(tensor.shape[1:], chosen.get(tensor.name)),
            name=tensor.name,
            dtype=tensor.dtype,
        )
        for tensor in model.inputs
    ]
    try:
        tensors = given  # a Sequential has no structure of inputs
        if not isinstance(model, installed.Sequential):
            tensors = installed.tree.pack_sequence_as(model.input, given)
        return installed.models.clone_model(model, input_tensors=tensors, clone_function=lambda layer: layer)
    except Exception as error:  # Keras raises a dozen exception classes here; all mean a size that does not fit
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise ModelError(f"model '{model.name}' cannot be built for inputs of that size: {said[0]}") from error


def _filled(shape: tuple[int | None, ...], size: tuple[int, int] | None) -> tuple[int | None, ...]:
    if size is None:
        return shape
    return tuple(wanted if own is None else own for wanted, own in zip((*size, None), shape))
