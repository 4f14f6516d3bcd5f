"""State of recurrent and streaming models: outputs passed to inputs of the next frame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from glsl_infer.bundle.manifest import NUMBERS, Manifest
from glsl_infer.errors import InputError
from glsl_infer.runtime.transfers import Results
from glsl_infer.support.ndarray import NDArray
from glsl_infer.support.near_names import did_you_mean


class State:
    """Values that a session keeps from one frame to the next.

    Args:
        manifest: manifest of the bundle.
        pairs: names of outputs by the name of the input that receives them; None for a model without state.

    Attributes:
        values: arrays for the inputs of the next frame, by name: zeros at first. Assign others to start from them.

    Raises:
        InputError: an input is unknown or an image, an output is unknown, or their numbers of elements differ.
    """

    def __init__(self, manifest: Manifest, pairs: Mapping[str, str] | None) -> None:
        self._pairs = dict(pairs or {})
        inputs = {model_input.name: model_input for model_input in manifest.inputs}
        outputs = {output.name: output for output in manifest.outputs}
        for name, output in self._pairs.items():
            for kind, entries, key in (("input", inputs, name), ("output", outputs, output)):
                if key not in entries:
                    meant = did_you_mean(key, entries)
                    raise InputError(f"state: the model has no {kind} '{key}'{meant}; it has {', '.join(entries)}")
            if inputs[name].kind != NUMBERS:
                raise InputError(f"state: input '{name}' is an image; only an input of numbers can be a state")
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
        """Start a new sequence: set all values to zero."""
        self.values = {name: np.zeros(shape, np.float32) for name, shape in self._shapes.items()}

    def add_to(self, inputs: Any) -> Any:
        """Return the inputs of a frame and the state, by name. An array passed by name replaces that of the state."""
        if not self._pairs:
            return inputs
        if not isinstance(inputs, Mapping):
            if len(self._others) != 1:
                raise InputError(f"the model reads {', '.join(self._others)} besides its state; give a dict by name")
            inputs = {self._others[0]: inputs}
        return {**self.values, **inputs}

    def update(self, results: Results) -> None:
        """Store the state for the next frame from the results of this one."""
        for name, output in self._pairs.items():
            self.values[name] = np.array(results[output], np.float32).reshape(self._shapes[name])

    def single_result(self, results: Results) -> NDArray[np.float32]:
        """Return the only result apart from the state.

        Raises:
            InputError: the model has several such results.
        """
        if self._pairs and len(self._results) != 1:
            raise InputError(f"the model returns {', '.join(self._results)} besides its state; give a dict of inputs")
        return results[self._results[0]] if self._pairs else next(iter(results.values()))
