"""Folder of the bundles fetched by ``glsl-infer get``, and search for the bundle of a task."""

from __future__ import annotations

import os
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.files import user_caches
from glsl_infer.support.resources import default_model

VARIABLE = "GLSL_INFER_MODELS"
"""Environment variable for another folder."""

SUFFIX = ".glslnn"

DEFAULT = "default"
"""Name of the model in the package."""


def folder() -> Path:
    """Return the folder of fetched models, ``~/.cache/glsl-infer/models``, which need not exist.

    Raises:
        InputError: the user has no home directory, and the variable is not set.
    """
    environment_folder = os.environ.get(VARIABLE, "")
    if environment_folder:
        return Path(environment_folder)
    try:
        return user_caches() / "glsl-infer/models"
    except RuntimeError:
        raise InputError(f"no home folder to keep models in; let {VARIABLE} name a folder") from None


def find(model: str, source: Path) -> Path:
    """Return the bundle of a task.

    Args:
        model: a file ``*.glslnn``, relative to the folder of ``source``; or a name known to ``get``.
        source: the file of the task.

    Raises:
        InputError: the bundle does not exist; the message has the command to get it.
    """
    if model == DEFAULT:
        return default_model()
    if model.endswith(SUFFIX):
        return source.parent / model
    if Path(model).name != model or "\0" in model:
        raise InputError(
            f"the model {model!r:.80} is not a name; give one that 'glsl-infer get' lists, or a file *{SUFFIX}"
        )
    path = folder() / f"{model}{SUFFIX}"
    if not path.is_file():
        name = source.stem if source.parent == Path(__file__).with_name("data") else model
        raise InputError(f"the model '{model}' has not been fetched yet; fetch it: glsl-infer get {name}")
    return path
