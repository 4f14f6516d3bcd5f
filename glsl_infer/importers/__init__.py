"""Import of model files of other frameworks as graphs: one folder for each kind of file."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.errors import InputError, ModelError, RunError
from glsl_infer.importers import conversion, foreign
from glsl_infer.importers.core.io_options import IoOptions
from glsl_infer.importers.core.report import REFUSED

if TYPE_CHECKING:
    from glsl_infer.importers.core.io_options import Range
    from glsl_infer.importers.core.report import ImportReport

READERS = {
    **dict.fromkeys((".keras", ".h5", ".hdf5", ".json"), "keras"),
    ".onnx": "onnx",
    **dict.fromkeys((".tflite", ".lite", ".task"), "tflite"),
}
"""Subpackage of the reader of each file name extension. Each has ``survey(path, input_range, io_options)``."""


def kind_of(path: str | Path) -> str:
    """Return the subpackage that reads a file, by the file's name; the default is Keras."""
    if conversion.saved_model_of(Path(path)) is not None:
        return "tflite"
    return READERS.get(Path(path).suffix.lower(), "keras")


def survey(path: str | Path, input_range: Range | None = None, io_options: IoOptions | None = None) -> ImportReport:
    """Return the import report of a model file, from the reader of its file format.

    Args:
        path: the file, or a folder that Keras has saved.
        input_range: the values of byte 0 and byte 255 of the input image.
        io_options: options for inputs and outputs.

    Raises:
        InputError: the file format is not supported.
        ModelError: the file is missing, or is not a model.
        MissingExtraError: the framework required for this format is not installed.
    """
    path = Path(path)
    io_options = io_options or IoOptions()
    tflite = _as_tflite(path)
    if tflite is not None:
        return _of_tflite(tflite[0], tflite[1], input_range, io_options, tflite[2])
    require_readable(path)
    reader = READERS.get(path.suffix.lower(), "keras")
    surveyed: ImportReport = importlib.import_module(f"{__name__}.{reader}").survey(path, input_range, io_options)
    if reader == "keras" and surveyed.convertible:
        return _converted(path, surveyed, input_range, io_options)
    return surveyed


def require_readable(path: Path, also: Sequence[str] = ()) -> None:
    """Refuse a file whose name does not have the extension of a model. Folders and files in a container are accepted.

    Args:
        path: the model.
        also: extensions that the command reads itself.

    Raises:
        InputError: the format is not supported, or the file does not exist.
    """
    if path.suffix.lower() in (*READERS, *also) or path.is_dir() or (exists(path) and not path.exists()):
        return
    if not path.exists() and not foreign.is_known(path):
        raise InputError(f"{path}: no such file or folder")
    raise InputError(f"{path}: {foreign.described(path, (*also, *READERS))}")


def plain_file(path: Path, folder: Path) -> Path:
    """Return a file in a framework's format: the model itself, or the TensorFlow Lite file that it contains or becomes.

    Args:
        path: the model.
        folder: the folder for an extracted or converted file.

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
    """Return the TensorFlow Lite file into which TensorFlow's converter turns a Keras model.

    Args:
        path: the model.
        folder: the folder for the converted file.
        refused: the message of the error if the conversion fails: why the Keras reader does not read the model.

    Raises:
        ModelError: the conversion fails, too.
    """
    written = folder / "converted.tflite"
    try:
        written.write_bytes(conversion.converted(path))
    except (InputError, RunError):
        raise ModelError(refused) from None
    return written


def exists(path: Path) -> bool:
    """Return whether a model exists at a path. The path can lead into a container."""
    return path.exists() or any(part.is_file() and part.suffix.lower() in foreign.SUFFIXES for part in path.parents)


def _as_tflite(path: Path) -> tuple[Path, bytes, str] | None:
    """Return the path, the bytes and a remark of a model to be read as TensorFlow Lite; None for any other model."""
    member = foreign.model_at(path)
    if member is not None:
        return (*member, "")
    folder = conversion.saved_model_of(path)
    if folder is not None:
        remark = f"{folder} is a SavedModel: TensorFlow has converted it to TensorFlow Lite, which names the layers"
        return folder, conversion.converted(folder), remark
    return None


def _of_tflite(path: Path, data: bytes, input_range: Range | None, io_options: IoOptions, remark: str) -> ImportReport:
    from glsl_infer.importers import tflite
    from glsl_infer.importers.tflite.file import parse

    surveyed = tflite.survey_of(parse(data, str(path), path.stem), input_range, io_options)
    return replace(surveyed, warnings=(*((remark,) if remark else ()), *surveyed.warnings))


def _converted(path: Path, direct: ImportReport, input_range: Range | None, io_options: IoOptions) -> ImportReport:
    """Return the import report of a Keras model with unsupported layers, converted to TensorFlow Lite.

    Returns:
        ``direct`` if TensorFlow cannot convert the model, or if the converted model has problems.
    """
    try:
        data = conversion.converted(path, list(io_options.sizes.items()))
        without_sizes = replace(io_options, sizes={})
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
