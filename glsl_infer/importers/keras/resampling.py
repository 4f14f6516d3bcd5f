"""Keras resizes by weighted sums of many pixels -> nodes: cubic, Lanczos and antialiased ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.shared.weighted import weighted_sums

METHODS = ("bicubic", "lanczos3", "lanczos5")


def resampled(call: Call, size: tuple[int, int], interpolation: str, *, antialias: bool) -> list[Node]:
    """Return the nodes of a resize to (height, width): rows, then columns, as weighted sums.

    Raises:
        ModelError: a pixel depends on too many others.
    """
    nodes: list[Node] = []
    for axis, (given, wanted) in enumerate(zip(call.shapes[0][:2], size)):
        if given == wanted:
            continue
        sums = weighted_sums(_matrix(given, wanted, interpolation, antialias=antialias), np.zeros(wanted), axis)
        if sums is None:
            raise call.refused(f"a resize of {given} to {wanted} pixels, smoothed", "pool by whole factors before it")
        name = f"{call.name}-columns" if nodes else call.name
        nodes.append(Node(name, "resample", (nodes[-1].name,) if nodes else call.inputs, *sums))
    return nodes or [call.node("identity")]


def _matrix(given: int, wanted: int, interpolation: str, *, antialias: bool) -> NDArray[np.float64]:
    """Return Keras' matrix (wanted, given): the weights of the ``given`` pixels of a row for each ``wanted`` pixel."""
    from keras import ops

    units = np.eye(given, dtype=np.float32)[:, None]
    made = ops.image.resize(units, (wanted, 1), interpolation, antialias=antialias, data_format="channels_last")
    return np.asarray(ops.convert_to_numpy(made), np.float64).reshape(wanted, given)
