"""A model file of another framework -> a graph: one folder for each kind of file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from glsl_infer.errors import InputError

if TYPE_CHECKING:
    from glsl_infer.importers.shared.verdict import Survey

READERS = {".keras": "keras", ".h5": "keras", ".hdf5": "keras"}
"""The folder here that reads a kind of file, by what its name ends in. Each has a function ``survey(path)``."""


def survey(path: Path) -> Survey:
    """Say of each layer of a model file where it runs, with the reader for its kind of file.

    Raises:
        InputError: nobody reads such files.
        ModelError: it is missing or no model.
        MissingExtraError: the framework that reads it is not installed.
    """
    reader = READERS.get(path.suffix.lower(), "keras" if path.is_dir() else "")
    if not reader:
        raise InputError(f"{path}: not a kind of model file that can be read; give one of: {', '.join(READERS)}")
    made: Survey = importlib.import_module(f"{__name__}.{reader}").survey(path)
    return made
