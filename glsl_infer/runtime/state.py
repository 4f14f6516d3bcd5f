"""Outputs that a session gives to inputs of the next frame: what a recurrent or streaming model remembers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from glsl_infer.bundle.manifest import NUMBERS, Manifest
from glsl_infer.errors import InputError
from glsl_infer.runtime.outputs import Results
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.near_names import did_you_mean


class State:
    """The values that a session keeps from one frame to the next.

    Args:
        manifest: of the bundle.
        pairs: the output that each input takes, by the input's name.

    Attributes:
        values: what each input takes in the next frame, by name: zeros at first. Assign arrays to start elsewhere.

    Raises:
        InputError: no such input of numbers or no such output, or they have different numbers of elements.
    """

    def __init__(self, manifest: Manifest, pairs: Mapping[str, str] | None) -> None:
        self._pairs = dict(pairs or {})
        inputs = {entry.name: entry for entry in manifest.inputs}
        outputs = {output.name: output for output in manifest.outputs}
        for name, output in self._pairs.items():
            for what, known, asked in (("input", inputs, name), ("output", outputs, output)):
                if asked not in known:
                    meant = did_you_mean(asked, known)
                    raise InputError(f"state: the model has no {what} '{asked}'{meant}; it has {', '.join(known)}")
            if inputs[name].kind != NUMBERS:
                raise InputError(f"state: input '{name}' is a picture; only an input of numbers can be a state")
            shapes = tuple(inputs[name].shape), tuple(outputs[output].shape)
            if math.prod(shapes[0]) != math.prod(shapes[1]):
                raise InputError(f"state: input '{name}' has the shape {shapes[0]}, and output '{output}' {shapes[1]}")
        self._shapes = {name: tuple(inputs[name].shape) for name in self._pairs}
        self._others = [name for name in inputs if name not in self._pairs]
        self._results = [name for name in outputs if name not in self._pairs.values()]
        self.values: dict[str, NDArray[np.float32]] = {}
        self.reset()

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def reset(self) -> None:
        """Begin a new sequence: zeros."""
        self.values = {name: np.zeros(shape, np.float32) for name, shape in self._shapes.items()}

    def completed(self, inputs: Any) -> Any:
        """Return the inputs of a frame with the state; what the caller gives by name goes first."""
        if not self._pairs:
            return inputs
        if not isinstance(inputs, Mapping):
            if len(self._others) != 1:
                raise InputError(f"the model reads {', '.join(self._others)} besides its state; give a dict by name")
            inputs = {self._others[0]: inputs}
        return {**self.values, **inputs}

    def kept(self, results: Results) -> Results:
        """Keep the state of a frame's results, which are returned as they are."""
        for name, output in self._pairs.items():
            self.values[name] = np.array(results[output], np.float32).reshape(self._shapes[name])
        return results

    def only(self, results: Results) -> NDArray[np.float32]:
        """Return the only result, apart from the state.

        Raises:
            InputError: there are several.
        """
        if self._pairs and len(self._results) != 1:
            raise InputError(f"the model returns {', '.join(self._results)} besides its state; give a dict of inputs")
        return results[self._results[0]] if self._pairs else next(iter(results.values()))
