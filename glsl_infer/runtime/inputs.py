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
from glsl_infer.gl.handles import Handles
from glsl_infer.runtime.pictures.picture_input import Picture, PictureInput
from glsl_infer.runtime.pictures.resampling import Resampler
from glsl_infer.runtime.transfers import Transfers
from glsl_infer.support.arrays import in_shape
from glsl_infer.support.ndarray import NDArray

Numbers = NDArray[Any]
"""Values for a numeric input: an array of its shape, of any float or integer type."""

Named = Mapping[str, Union[Picture, Numbers]]
"""A picture or an array of values for each input, by name."""


def numbers_as(entry: Input, given: object) -> Numbers:
    """Return values in the shape of an input.

    Only the axes before the last two can differ, with the same number of elements: a batch of 1, frames stacked into
    one map from top to bottom, a sequence stored as a map of one row.

    Raises:
        InputError: the shape differs, or the values are not numeric.
    """
    array, wanted = np.asarray(given), tuple(entry.shape)
    kept = min(2, len(wanted))
    alike = array.shape[-kept:] == wanted[-kept:] and array.size == math.prod(wanted)
    alike = alike or in_shape(array, wanted).shape == wanted  # a long line stored as several rows of a map
    if not alike or array.dtype.kind not in "fiub":
        what = f"{array.dtype} {array.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise InputError(f"input '{entry.name}' reads numbers of shape {entry.shape}; {what} was given")
    return array.reshape(wanted)


class NumbersInput:
    """Numeric input. ``put`` needs the context.

    Args:
        entry: the input.
        transfers: writes textures.
    """

    def __init__(self, entry: Input, transfers: Transfers) -> None:
        self._entry, self._transfers = entry, transfers

    def check(self, given: object) -> Numbers:
        """Return values in the form that ``put`` takes, or refuse them.

        Raises:
            InputError: the shape or type is wrong, or a value is NaN.
        """
        entry, array = self._entry, numbers_as(self._entry, given)
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise InputError(f"input '{entry.name}': NaN is among the numbers; give numbers alone")
        return array

    def put(self, given: Numbers, handles: Handles) -> None:
        """Write values; those outside the range are clipped."""
        self._transfers.write(f"input '{self._entry.name}'", self._entry.value, given, handles)

    def release(self, handles: Handles) -> None:
        """Do nothing: values are copied at once."""


class Inputs:
    """All inputs of a session.

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
        self._manifest = manifest
        self.pictures = {
            entry.name: PictureInput(entry, textures[entry.textures[0]], gl, transfers, resampler, importer)
            for entry in manifest.inputs
            if entry.kind == PICTURE
        }
        self._all: dict[str, Union[PictureInput, NumbersInput]] = {
            entry.name: self.pictures.get(entry.name) or NumbersInput(entry, transfers) for entry in manifest.inputs
        }

    def checked(self, given: object) -> dict[str, Any]:
        """Return the checked value of each input, by name, in the form that ``put`` takes.

        Args:
            given: a mapping with all inputs, or the value of the only input if the model has one output as well.

        Raises:
            InputError: an input is missing or unknown, names are needed, or a value does not fit its input.
            ImageError: the value of a picture input is not a picture in an accepted form.
        """
        names = list(self._all)
        if not isinstance(given, Mapping):
            outputs = [output.name for output in self._manifest.outputs]
            if len(names) != 1 or len(outputs) != 1:
                raise InputError(
                    f"the model has the inputs {', '.join(names)} and the outputs {', '.join(outputs)}; "
                    "give a dict of inputs by name, and get one of outputs"
                )
            given = {names[0]: given}
        missing, unknown = [name for name in names if name not in given], [name for name in given if name not in names]
        if missing or unknown:
            what = f"'{missing[0]}' is missing" if missing else f"there is no '{unknown[0]}'"
            raise InputError(f"inputs: {what}; the model reads {', '.join(names)}")
        return {name: target.check(given[name]) for name, target in self._all.items()}

    def put(self, given: Mapping[str, Any], handles: Handles) -> None:
        """Write the values from ``checked`` into the textures of ``handles``.

        Raises:
            ImageError, ShaderError: see ``PictureInput.put``.
        """
        for name, target in self._all.items():
            target.put(given[name], handles)

    def release(self, handles: Handles) -> None:
        """Release the imports for ``handles`` after the outputs of their frame have been read."""
        for target in self._all.values():
            target.release(handles)

    def pixels(self, name: str | None, handles: Handles) -> NDArray[np.uint8]:
        """Return a picture as the network reads it, uint8 (height, width, channels); by default the only one.

        Raises:
            InputError: the name is not a picture input, or is missing although there are several.
        """
        names = list(self.pictures)
        if name is None and len(names) == 1:
            name = names[0]
        if name not in self.pictures:
            raise InputError(f"{name!r} is not a picture of the model; its pictures are: {', '.join(names) or 'none'}")
        return self.pictures[name].pixels(handles)
