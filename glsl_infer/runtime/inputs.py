"""Inputs of a session: writes pictures and arrays of values into the textures of the inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Union

import numpy as np

from glsl_infer.bundle.manifest import PICTURE, Input, Manifest
from glsl_infer.errors import InputError
from glsl_infer.gl.api import Api
from glsl_infer.gl.dma_import import Importer
from glsl_infer.gl.objects import Handles
from glsl_infer.runtime.pictures.picture_input import Picture, PictureInput
from glsl_infer.runtime.pictures.resampling import Resampler
from glsl_infer.runtime.transfers import Transfers
from glsl_infer.support.arrays import in_shape
from glsl_infer.support.ndarray import NDArray

Numbers = NDArray[Any]
"""Values for a numeric input: an array of its shape, of any float or integer type."""

Named = Mapping[str, Union[Picture, Numbers]]
"""A picture or an array of values for each input, by name."""


def by_name(manifest: Manifest, inputs: Any) -> dict[str, Any]:
    """Return the value of each input by its name.

    Args:
        manifest: describes the inputs.
        inputs: a mapping with all inputs, or the value of the only input if the model has one output as well.

    Raises:
        InputError: an input is missing or unknown, or names are needed.
    """
    names = [model_input.name for model_input in manifest.inputs]
    if not isinstance(inputs, Mapping):
        outputs = [output.name for output in manifest.outputs]
        if len(names) != 1 or len(outputs) != 1:
            raise InputError(
                f"the model has the inputs {', '.join(names)} and the outputs {', '.join(outputs)}; "
                "give a dict of inputs by name, and get one of outputs"
            )
        return {names[0]: inputs}
    missing, unknown = [name for name in names if name not in inputs], [name for name in inputs if name not in names]
    if missing or unknown:
        problem = f"'{missing[0]}' is missing" if missing else f"there is no '{unknown[0]}'"
        raise InputError(f"inputs: {problem}; the model reads {', '.join(names)}")
    return dict(inputs)


def as_values(model_input: Input, value: object) -> Numbers:
    """Return values in the shape of an input.

    Only the axes before the last two can differ, with the same number of elements: a batch of 1, frames stacked into
    one map from top to bottom, a sequence stored as a map of one row.

    Raises:
        InputError: the shape differs, or the values are not numeric.
    """
    array, shape = np.asarray(value), tuple(model_input.shape)
    last = min(2, len(shape))
    fits = array.shape[-last:] == shape[-last:] and array.size == math.prod(shape)
    fits = fits or in_shape(array, shape).shape == shape  # a long line stored as several rows of a map
    if not fits or array.dtype.kind not in "fiub":
        actual = f"{array.dtype} {array.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"input '{model_input.name}' reads numbers of shape {model_input.shape}; {actual} was given")
    return array.reshape(shape)


class NumbersInput:
    """Numeric input. ``put`` needs the context.

    Args:
        model_input: the input.
        transfers: writes textures.
    """

    def __init__(self, model_input: Input, transfers: Transfers) -> None:
        self._model_input, self._transfers = model_input, transfers

    def check(self, value: object) -> Numbers:
        """Return values in the form that ``put`` takes, or refuse them.

        Raises:
            InputError: the shape or type is wrong, or a value is NaN.
        """
        model_input, array = self._model_input, as_values(self._model_input, value)
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"input '{model_input.name}': NaN is among the numbers; give numbers alone")
        return array

    def put(self, values: Numbers, handles: Handles) -> None:
        """Write values; those outside the range are clipped."""
        self._transfers.write(f"input '{self._model_input.name}'", self._model_input.value, values, handles)

    def release(self, handles: Handles) -> None:
        """Do nothing: values are copied at once."""


class Inputs:
    """All inputs of a part on the GPU.

    Args:
        manifest: describes the inputs.
        gl: the functions of the context.
        transfers: writes and reads textures.
        resampler: returns the resampler for pictures with a number of channels.
        importer: makes textures of dma-bufs.
    """

    def __init__(
        self,
        manifest: Manifest,
        gl: Api,
        transfers: Transfers,
        resampler: Callable[[int], Resampler],
        importer: Importer,
    ) -> None:
        textures = {texture.name: texture for texture in manifest.textures}
        self.pictures = {
            model_input.name: PictureInput(
                model_input, textures[model_input.textures[0]], gl, transfers, resampler, importer
            )
            for model_input in manifest.inputs
            if model_input.kind == PICTURE
        }
        self._all: dict[str, Union[PictureInput, NumbersInput]] = {
            model_input.name: self.pictures.get(model_input.name) or NumbersInput(model_input, transfers)
            for model_input in manifest.inputs
        }

    def checked(self, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked value of each input, by name, in the form that ``put`` takes.

        Raises:
            InputError: a value does not fit its input.
            ImageError: the value of a picture input is not a picture in an accepted form.
        """
        return {name: target.check(tensors[name]) for name, target in self._all.items()}

    def put(self, values: Mapping[str, Any], handles: Handles) -> None:
        """Write the values from ``checked`` into the textures of ``handles``.

        Raises:
            ImageError, ShaderError: see ``PictureInput.put``.
        """
        for name, target in self._all.items():
            target.put(values[name], handles)

    def release(self, handles: Handles) -> None:
        """Release the imports for ``handles`` after the outputs of their frame have been read."""
        for target in self._all.values():
            target.release(handles)
