"""Checks of a Keras model file before Keras loads it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glsl_infer.errors import ModelError
from glsl_infer.support import json_text

CONFIG = "config.json"

MOST_CONFIG = 64 << 20
"""Largest size of a config in bytes."""

_SAVED_MODEL = "saved_model.pb"


def require_file(path: Path) -> None:
    """Refuse a path that is not a file, in particular a SavedModel, which is a folder.

    Raises:
        ModelError: the file is missing, or is a folder.
    """
    if (path / _SAVED_MODEL).is_file() or path.name == _SAVED_MODEL:
        raise ModelError(f"{path}: a TensorFlow SavedModel; give its whole folder, with the folder variables in it")
    if path.is_dir():
        raise ModelError(f'{path}: a folder; give a file that model.save("x.keras") wrote')
    if not path.is_file():
        raise ModelError(f"{path}: no such file")


def config_of(path: Path) -> dict[str, Any] | None:
    """Return the config of a ``.keras`` file: the model's layers without weights; None for any other file."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(CONFIG).file_size > MOST_CONFIG:
                return None
            config = json_text.loads(archive.read(CONFIG))
    except (OSError, KeyError, ValueError, RecursionError, NotImplementedError, zipfile.BadZipFile):
        return None
    return config if isinstance(config, dict) else None


def objects_in(config: Any) -> Iterator[dict[str, Any]]:
    """Yield every serialized object of a config, outer ones first."""
    stack = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if isinstance(value.get("class_name"), str) and isinstance(value.get("config"), dict):
                yield value
            stack += reversed(list(value.values()))
        elif isinstance(value, list):
            stack += reversed(value)
