"""A model file of another framework -> a graph: one folder for each kind of file."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.errors import InputError, ModelError, RunError
from glsl_infer.importers import containers, conversion, foreign
from glsl_infer.importers.shared.ends import Ends
from glsl_infer.importers.shared.verdict import REFUSED

if TYPE_CHECKING:
    from glsl_infer.importers.shared.ends import Range
    from glsl_infer.importers.shared.verdict import Survey

READERS = {
    **dict.fromkeys((".keras", ".h5", ".hdf5", ".json"), "keras"),
    ".onnx": "onnx",
    **dict.fromkeys((".tflite", ".lite", ".task"), "tflite"),
}
"""The folder here that reads a kind of file, by the end of its name. Each has a ``survey(path, input_range, ends)``."""


def kind_of(path: str | Path) -> str:
    """Return the folder here that reads a file, by its name; Keras' for all that no other reads."""
    if conversion.saved_model_of(Path(path)) is not None:
        return "tflite"
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
    tflite = _as_tflite(path)
    if tflite is not None:
        return _of_tflite(tflite[0], tflite[1], input_range, ends, tflite[2])
    reader = READERS.get(path.suffix.lower(), "keras" if path.is_dir() else "")
    if not reader:
        raise InputError(f"{path}: {foreign.described(path)}; give one of: {', '.join(READERS)}")
    surveyed: Survey = importlib.import_module(f"{__name__}.{reader}").survey(path, input_range, ends)
    if reader == "keras" and surveyed.convertible:
        return _converted(path, surveyed, input_range, ends)
    return surveyed


def plain_file(path: Path, folder: Path) -> Path:
    """Return a file that a framework reads: the model itself, or the TensorFlow Lite file that it contains or becomes.

    Args:
        path: the model.
        folder: where to write such a file.

    Raises:
        ModelError: it cannot be read or converted.
    """
    tflite = _as_tflite(path)
    if tflite is None:
        return path
    written = folder / "plain.tflite"
    written.write_bytes(tflite[1])
    return written


def converted_file(path: Path, folder: Path, refused: str) -> Path:
    """Return the TensorFlow Lite file that TensorFlow's converter makes of a Keras model.

    Args:
        path: the model.
        folder: where to write the file.
        refused: why the Keras reader does not read it, for the message.

    Raises:
        ModelError: it cannot be converted either.
    """
    written = folder / "converted.tflite"
    try:
        written.write_bytes(conversion.converted(path))
    except (InputError, RunError):
        raise ModelError(refused) from None
    return written


def exists(path: Path) -> bool:
    """Return whether there is a model at a path, which can lead into a container."""
    return path.exists() or any(part.is_file() and part.suffix.lower() in containers.SUFFIXES for part in path.parents)


def _as_tflite(path: Path) -> tuple[Path, bytes, str] | None:
    """Return the path, the bytes and a remark of a model that is read as TensorFlow Lite; None of any other."""
    member = containers.model_at(path)
    if member is not None:
        return (*member, "")
    folder = conversion.saved_model_of(path)
    if folder is not None:
        remark = f"{folder} is a SavedModel: TensorFlow has converted it to TensorFlow Lite, which names the layers"
        return folder, conversion.converted(folder), remark
    return None


def _of_tflite(path: Path, data: bytes, input_range: Range | None, ends: Ends, remark: str) -> Survey:
    from glsl_infer.importers import tflite
    from glsl_infer.importers.tflite.file import parse

    surveyed = tflite.survey_of(parse(data, str(path), path.stem), input_range, ends)
    return replace(surveyed, warnings=(*((remark,) if remark else ()), *surveyed.warnings))


def _converted(path: Path, direct: Survey, input_range: Range | None, ends: Ends) -> Survey:
    """Return what TensorFlow Lite makes of a Keras model with layers that have no entry here.

    Returns:
        The direct survey if TensorFlow cannot convert the model, or if less of the conversion can be exported.
    """
    try:
        data = conversion.converted(path, list(ends.sizes.items()))
        without_sizes = replace(ends, sizes={})
        refused = [row.kind for row in direct.rows if row.runs == REFUSED]
        named = ", ".join(dict.fromkeys(refused)) or "the model's own call"
        remark = (
            f"{path}: TensorFlow has converted the model to TensorFlow Lite, which names the layers, because no entry "
            f"reads {named}"
        )
        surveyed = _of_tflite(path, data, input_range, without_sizes, remark)
    except (InputError, RunError):
        return direct
    return direct if surveyed.problems else surveyed
