"""The bytes of a model file, as importers read them: all at once, and not more than there may be."""

from __future__ import annotations

from pathlib import Path

from glsl_infer.errors import ModelError
from glsl_infer.support.files import not_a_file


def read_bytes(path: Path, suffix: str, largest: int) -> bytes:
    """Return all bytes of a file.

    Args:
        path: of the file.
        suffix: what such files end with, for messages: ``.onnx``.
        largest: how many bytes it may have.

    Raises:
        ModelError: it is missing, no file, too large, or cannot be read.
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
