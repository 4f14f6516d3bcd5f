"""Copy a task into a deployment: its bundles, and its own files if the user wrote it."""

from __future__ import annotations

import shutil
from pathlib import Path

from glsl_infer import bundle as bundles
from glsl_infer.errors import InputError
from glsl_infer.support import signatures
from glsl_infer.tasks import models, reading
from glsl_infer.tasks.description import Description, LandmarkRules

FOLDER = "tasks"
"""Folder of user-defined tasks and their bundles."""

MODELS = "models"
"""Folder of bundles from ``glsl-infer get``; ``GLSL_INFER_MODELS`` is set to it on the board."""


def put(task: str, base: Path, new: Path, key: str | None = None) -> list[str]:
    """Copy the files of a task; return them, relative to the folder.

    Args:
        task: a name, or a file ``*.json`` relative to ``base``.
        base: the folder of the deployment file.
        new: the folder to fill.
        key: minisign public key; bundles in the task's folder must have its signature (``signatures``). Bundles from
            ``glsl-infer get`` are verified by their hashes instead.

    Raises:
        InputError: the task does not exist, or one of its bundles is missing, is outside the task's folder, or has a
            wrong signature.
    """
    is_path = task.lower().endswith(reading.SUFFIX)
    files: list[str] = []
    for description in _needed(reading.find(base / task if is_path else task)):
        source = description.source
        if reading.FOLDER not in source.parents:
            files.append(_copied(source, new, FOLDER))
        model = description.model
        if model == models.DEFAULT:
            continue
        path = models.find(model, source)
        if model.endswith(models.SUFFIX) and Path(model).name != model:
            raise InputError(f"{source}: model {model}: the models of a deployed task must be next to its file")
        if key is not None and model.endswith(models.SUFFIX):
            signatures.require(path, key)
        bundles.read(path)
        files.append(_copied(path, new, FOLDER if model.endswith(models.SUFFIX) else MODELS))
    return list(dict.fromkeys(files))


def on_board(task: str, prefix: str) -> str:
    """Return the value of ``--task`` on the board."""
    return f"{prefix}/{FOLDER}/{Path(task).name}" if task.lower().endswith(reading.SUFFIX) else task


def _needed(description: Description) -> list[Description]:
    """Return a task and the task of its detector, if it has one."""
    rules = description.rules
    if not isinstance(rules, LandmarkRules):
        return [description]
    if rules.detector.lower().endswith(reading.SUFFIX) and Path(rules.detector).name != rules.detector:
        raise InputError(f"{description.source}: detector {rules.detector}: it must be next to the task")
    return [description, reading.find(rules.detector, relative_to=description.source)]


def _copied(path: Path, new: Path, folder: str) -> str:
    (new / folder).mkdir(exist_ok=True)
    try:
        shutil.copyfile(path, new / folder / path.name)
    except OSError as error:
        raise InputError(f"{path}: cannot be copied ({error.strerror or error})") from None
    return f"{folder}/{path.name}"
