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


_PYTORCH = "a file of PyTorch, which holds code; in PyTorch: torch.onnx.export(model, example, 'model.onnx')"
_TENSORFLOW = "a part of a TensorFlow model; load it where it was made, and model.save('model.keras')"
_UNKNOWN = "not a kind of model file that can be read"
_FOREIGN = {
    **dict.fromkeys((".pt", ".pth", ".pt2", ".ckpt", ".bin", ".safetensors", ".torchscript"), _PYTORCH),
    **dict.fromkeys((".pb", ".index", ".meta", ".pbtxt"), _TENSORFLOW),
    **dict.fromkeys((".mlmodel", ".mlpackage"), "a Core ML model; export it from where it was made"),
    **dict.fromkeys((".caffemodel", ".prototxt"), "a Caffe model; convert it to ONNX"),
    ".param": "an ncnn model; give the file that it was made of",
    ".glslnn": "exported already; use it: glsl-infer run, classify, inspect",
}
"""What files of others are, by the end of their names, and what to do."""


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
        raise InputError(f"{path}: {_FOREIGN.get(path.suffix.lower(), _UNKNOWN)}; give one of: {', '.join(READERS)}")
    made: Survey = importlib.import_module(f"{__name__}.{reader}").survey(path, input_range, ends)
    return made
