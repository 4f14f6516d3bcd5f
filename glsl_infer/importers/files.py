"""A model file of any kind that the engine imports -> a graph, by the ending of its name."""

from __future__ import annotations

from pathlib import Path

from glsl_infer.graph import Graph
from glsl_infer.importers.shared.ends import Ends, Range

TFLITE = ".tflite"
SUFFIXES = (".keras", TFLITE)
"""Endings of the files that can be imported. Any other is read as a Keras model."""


def is_tflite(path: str | Path) -> bool:
    """Return whether a file is TensorFlow Lite's, by its name."""
    return Path(path).suffix.lower() == TFLITE


def load(path: str | Path, input_range: Range | None = None, ends: Ends | None = None) -> Graph:
    """Read a model file and return its graph.

    Args:
        path: the file.
        input_range: the values that byte 0 and byte 255 of a picture stand for; see the importer of its kind.
        ends: what else is known of inputs and outputs.

    Raises:
        ModelError: the file is missing, is no model, or a layer is not supported (by name).
        InputError: ``input_range`` or ``ends`` do not fit the model.
        MissingExtraError: what reads files of its kind is not installed.
    """
    if is_tflite(path):
        from glsl_infer.importers import tflite

        return tflite.load(path, input_range, ends)
    from glsl_infer.importers import keras

    return keras.load(path, input_range, ends)
