"""Reading of a model file into memory, with a limit of its size."""

from __future__ import annotations

from pathlib import Path

from glsl_infer.errors import ModelError
from glsl_infer.support.files import not_a_file


def read_bytes(path: Path, suffix: str, largest: int) -> bytes:
    """Return all bytes of a file.

    Args:
        path: of the file.
        suffix: extension of such files, for messages, such as ``.onnx``.
        largest: largest size in bytes.

    Raises:
        ModelError: the file is missing, is not a regular file, is too large, or cannot be read.
    """
    try:
        if kind := not_a_file(path):
            raise ModelError(f"{path}: is {kind}, no {suffix} file")
        if path.stat().st_size > largest:
            raise ModelError(f"{path}: has {path.stat().st_size} bytes; at most {largest} are read")
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
