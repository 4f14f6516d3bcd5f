"""The user's custom layers -> nodes whose function, also the user's, runs on the CPU."""

from __future__ import annotations

import json
from typing import Any

from glsl_infer.cpu.custom import CUSTOM
from glsl_infer.graph import Node
from glsl_infer.importers.keras.call import Call
from glsl_infer.importers.keras.weights import array

_OF_EVERY_LAYER = {"name", "trainable", "dtype"}


def convert(call: Call, function: str) -> list[Node]:
    """Convert a call of a layer with a function from ``--operator``.

    Args:
        call: the call. The layer's settings and weights become keyword arguments of the function.
        function: name of the function, ``module:function``.

    Raises:
        ModelError: Keras cannot compute the shape of the output.
    """
    if None in call.shape:
        raise call.refused(f"an output of shape {call.shape}", "give the layer a compute_output_shape without None")
    weights = {str(variable.name): array(variable) for variable in getattr(call.layer, "weights", ())}
    attrs = {"calls": function, "shape": call.shape, "settings": json.dumps(_settings(call.layer))}
    return [Node(call.name, CUSTOM, call.inputs, attrs, weights)]


def _settings(layer: Any) -> dict[str, Any]:
    """Return the settings of a layer that JSON can represent."""
    settings = {}
    for key, value in layer.get_config().items():
        if key in _OF_EVERY_LAYER:
            continue
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            continue
        settings[key] = value
    return settings
