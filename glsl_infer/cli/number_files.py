"""Input and output files of a model: images, and arrays as .npy, .npz, .json or .csv."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from glsl_infer.bundle.manifest import PICTURE
from glsl_infer.errors import InputError
from glsl_infer.support import json_text
from glsl_infer.support.arrays import from_file, load_array
from glsl_infer.support.files import output, reading

if TYPE_CHECKING:
    from glsl_infer.bundle.manifest import Input

ARRAY, ARRAYS, JSON, CSV = ".npy", ".npz", ".json", ".csv"


def read_input(path: Path, model_input: Input) -> NDArray[Any]:
    """Return the content of a file for an input: an image as the network reads it, or an array of its shape.

    Args:
        path: an image, or *.npy with pixels, for an image input; *.npy, *.json or *.csv for any other.
        model_input: the input.

    Raises:
        InputError: the file cannot be read, or its content does not match.
    """
    suffix = path.suffix.lower()
    if model_input.kind == PICTURE and suffix != ARRAY:
        from glsl_infer.runtime.pictures import preprocess

        return preprocess.load_for(path, model_input)
    if suffix not in (ARRAY, JSON, CSV):
        raise InputError(f"{path}: input '{model_input.name}' reads numbers; give a *{ARRAY}, *{JSON} or *{CSV} file")
    try:
        values = _read_values(path, suffix)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (ValueError, TypeError, EOFError, RecursionError) as error:
        raise InputError(f"{path}: does not contain numbers ({error})") from None
    # A table has rows and columns, for any shape of its values.
    is_full_table = suffix == CSV and values.size == np.prod(model_input.shape)
    return values.reshape(model_input.shape) if is_full_table else from_file(values, model_input.shape)


def write_results(results: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write results by their names as *.npz or *.json, or a single one as *.npy.

    Raises:
        InputError: the file cannot be written.
    """
    suffix = path.suffix.lower()
    with output(path) as file:
        if suffix == ARRAYS:
            _save_all(file, results)
        elif suffix == JSON:
            file.write(json.dumps(as_json(results)).encode("utf-8") + b"\n")
        else:
            (only,) = results.values()
            np.save(file, only)


def _save_all(file: BinaryIO, results: Mapping[str, NDArray[Any]]) -> None:
    """Write an *.npz file. NumPy's own function does not accept an output called 'file'."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, result in results.items():
            with archive.open(f"{name}{ARRAY}", "w") as member:
                np.lib.format.write_array(member, np.asanyarray(result))


def as_json(results: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return results as plain data by name: the shape, and the values nested accordingly, as from ``plain_numbers``."""
    return {name: {"shape": list(result.shape), "numbers": plain_numbers(result)} for name, result in results.items()}


def plain_numbers(result: NDArray[Any]) -> Any:
    """Return values nested as in JSON. NaN and infinite values, which JSON lacks, become None."""
    values = result.astype(np.float64)
    finite = np.isfinite(values)
    if finite.all():
        return values.tolist()
    cells = values.astype(object)
    cells[~finite] = None
    return cells.tolist()


def _read_values(path: Path, suffix: str) -> NDArray[Any]:
    if suffix == ARRAY:
        return load_array(path)
    with reading(path) as file:
        text = file.read().decode("utf-8")
    if suffix == JSON:
        return np.array(json_text.loads(text), np.float64)
    return np.array([[float(cell) for cell in line.split(",")] for line in text.splitlines() if line.strip()])
