"""Where bundles lie that ``glsl-infer get`` has made, and how a task finds its own."""

from __future__ import annotations

import os
from pathlib import Path

from glsl_infer.errors import InputError
from glsl_infer.support.files import user_caches
from glsl_infer.support.resources import default_model

VARIABLE = "GLSL_INFER_MODELS"
"""The environment variable that names another folder."""

SUFFIX = ".glslnn"

DEFAULT = "default"
"""The name of the model that comes with the package."""


def folder() -> Path:
    """Return the folder of fetched models, which need not exist: ``~/.cache/glsl-infer/models``.

    Raises:
        InputError: a user without a home, and no variable names a folder.
    """
    given = os.environ.get(VARIABLE, "")
    if given:
        return Path(given)
    try:
        return user_caches() / "glsl-infer/models"
    except RuntimeError:
        raise InputError(f"there is no home folder to keep models in; let {VARIABLE} name a folder") from None


def find(model: str, source: Path) -> Path:
    """Return the bundle of a task.

    Args:
        model: a file ``*.glslnn``, which lies beside ``source`` where it is relative; or a name that ``get`` knows.
        source: the file of the task.

    Raises:
        InputError: it is not there; says how to get it.
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
        raise InputError(f"the model '{model}' is not here yet; fetch it, once: glsl-infer get {model}")
    return path
