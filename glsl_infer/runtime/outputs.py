"""Outputs of a session: decoded values of a frame, with host steps applied."""

from __future__ import annotations

from typing import Union

import numpy as np

from glsl_infer.bundle.manifest import Manifest
from glsl_infer.gl.handles import Handles
from glsl_infer.graph import host_steps
from glsl_infer.runtime.transfers import Transfers
from glsl_infer.support.ndarray import NDArray

Output = NDArray[np.float32]
"""A result in the shape of ``manifest.Output.shape``."""

Results = dict[str, Output]
"""Every output by its name."""

Answer = Union[Output, Results]
"""Result of ``Session.run``: all outputs for a dict of inputs, the only output for a picture."""


class Outputs:
    """All outputs of a session; every method needs the context.

    Args:
        manifest: describes the outputs.
        transfers: reads textures.
    """

    def __init__(self, manifest: Manifest, transfers: Transfers) -> None:
        self._outputs, self._transfers = manifest.outputs, transfers

    def values(self, handles: Handles) -> dict[str, list[NDArray[np.float64]]]:
        """Return the values of each output after the last frame, before its host steps."""
        return {
            output.name: [self._transfers.read(value, handles) for value in output.values] for output in self._outputs
        }

    def read(self, handles: Handles) -> Results:
        """Return every output of the last frame."""
        values = self.values(handles)
        return {output.name: host_steps.apply(output.steps, values[output.name]) for output in self._outputs}
