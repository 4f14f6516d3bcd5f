"""A model file of another framework -> a graph: one folder for each kind of file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.errors import InputError
from glsl_infer.importers.shared.ends import Ends

if TYPE_CHECKING:
    from glsl_infer.importers.shared.ends import Range
    from glsl_infer.importers.shared.verdict import Survey

READERS = {".keras": "keras", ".h5": "keras", ".hdf5": "keras", ".onnx": "onnx", ".tflite": "tflite"}
"""The folder here that reads a kind of file, by the end of its name. Each has a ``survey(path, input_range, ends)``."""


def kind_of(path: str | Path) -> str:
    """Return the folder here that reads a file, by its name; Keras' for all that no other reads."""
    return READERS.get(Path(path).suffix.lower(), "keras")


def survey(path: str | Path, input_range: Range | None = None, ends: Ends | None = None) -> Survey:
    """Say of each layer of a model file where it runs, with the reader for its kind of file.

    Args:
        path: the file, or a folder of Keras.
        input_range: the values that byte 0 and byte 255 of the picture stand for.
        ends: what else is known of inputs and outputs.

    Raises:
        InputError: nobody reads such files.
        ModelError: it is missing or no model.
        MissingExtraError: the framework that reads it is not installed.
    """
    path = Path(path)
    ends = ends or Ends()
    reader = READERS.get(path.suffix.lower(), "keras" if path.is_dir() else "")
    if not reader:
        raise InputError(f"{path}: not a kind of model file that can be read; give one of: {', '.join(READERS)}")
    if ends.sizes and reader != "onnx":
        raise InputError(f"--input-size is for .onnx files; {path} says itself how large its inputs are")
    made: Survey = importlib.import_module(f"{__name__}.{reader}").survey(path, input_range, ends)
    return made
